#!/bin/sh
# dial.sh: the recorded study of equal evaluations: does the order of the integrator, its truncation error or the displacement of
# its stages go with perplexity? The family is dial:S,THETA (ode/scheme/README.md): at S = 2 the leading error is proportional to
# |THETA - 1|, so on levels symmetric about 1 a U says error, and a slope says displacement.
#
#   sh studies/scripts/dial.sh --corpus DIR --out OUT [--only PART,PART,...] [--first N] [--seeds N]
#                              [--processes N] [--rate X] [--dropout P] [--device D] [--precision P]
#   sh studies/scripts/dial.sh --corpus DIR --out OUT --from DIR [--only PART,...]
#
#   tune       rates of three designs; choose from OUT/tune/compare.csv, and give --rate below. Dropout is 0 and was not tuned
#   two        S = 2: seven levels; and beside them F and G in turn, of order 1 and 2 (looped:2, fgfg2), and the plain layer.
#              Three contrasts of order 1 and 2 and of together and in turn: order, arrangement, half of their interaction
#   low        S = 2: two levels more, below 1/2
#   others     other blocks of two evaluations: the papers', and those of studies/schemes (trotter design found fgfg-error)
#   papers     the papers' other blocks of two evaluations: learned scalars, sigmoids, tanh; PolyNet
#   four       S = 4: five levels
#   three      three evaluations: three Euler steps, SSPRK(3,2), Kutta's method of order 3, and its stages with learned weights of
#              order 2 (order2-learn)
#   parts      several sets of feed-forward weights: parted, of three, beside macaron, of two, and looped:2, of one; inner width 192,
#              which they divide
#   confirm    fgfg-error and repeat:2 once more, on eight seeds that nothing was chosen by (those after --first + 7)
#   wide       four designs again at width 128, six seeds
#   blocks     trains nothing: fgfg-error beside the plain layer and all blocks of two evaluations that the papers have (`two`,
#              `others` and `papers`)
#   sixteen    trains nothing: `confirm` and the first seeds of its two designs in one model
#   all        trains nothing: the designs of `two`, `low`, `others`, `three` and `four` in one model
#
# Seeds are --first and the next. Where OUT/PART has a runs.csv and no folders of runs, its tables are made again.
# Each part is a `trotter compare` in OUT/PART by N processes of one thread each (default: one a core). What is there already
# goes on or is left as it is, so that the same command can be given again. Some 12 hours on two cores. Needs build/trotter.
set -eu
. "$(dirname "$0")/shared.sh"
root=$(dirname "$0")/../..
corpus='' out='' only=two,low,others,papers,four,three,parts,confirm,wide,blocks,sixteen,all first=1 seeds=8 processes=$(nproc) rate=8e-3 dropout=0 device=cpu precision=f32 extra=''
while [ $# -gt 0 ]; do take_option "--corpus --out --only --first --seeds --processes --rate --dropout --device --precision --extra" "$@" && shift 2; done
[ -n "$corpus" ] && [ -n "$out" ] || usage
trotter=${TROTTER:-$root/build/trotter}
[ -x "$trotter" ] || refuse "$trotter is not there: make build"
mkdir -p "$out"

# The rate falls to 0, so that the last epoch is the one that counts.
recipe="--corpus $corpus --layers 1 --heads 4 --sequence 64 --activation gelu --batch-tokens 1024 --epochs 6 --schedule linear
        --warmup 400 --threads 1 --device $device --precision $precision --truncation 64 --all-pairs --equivalence 1"
levels=dial:2,0,dial:2,1/2,dial:2,3/4,dial:2,1,dial:2,5/4,dial:2,3/2,dial:2,2,looped:2,fgfg2,transformer
three=dial:3,1/3,dial:3,1/2,rk3,order2-learn
papers=rk2-scalar,rk2-sigmoid,rk2-tanh,polynet
others=heun-layer,repeat:2,rk2-gate,looped-learn,looped-chebyshev,dial-learn,half-coupled,fgfg-error
file="--scheme-file $root/studies/schemes/study.scheme"
trained="--rate $rate --dropout $dropout" narrow='--width 64 --inner 256' wide='--width 128 --inner 512'

# part NAME OPTIONS...: by all processes at once; --extra is for trials.
part() {
    name=$1
    shift
    case ,$only, in *",$name,"*) ;; *) return 0 ;; esac
    mkdir -p "$out/$name"
    [ -e "$out/$name/about.txt" ] || about >"$out/$name/about.txt"
    # shellcheck disable=SC2086
    together "$out/$name-process" "$trotter" compare $recipe "$@" $extra --out "$out/$name"
}

# spelt NAMES: as tables have the names of schemes.
spelt() { echo "$1" | sed 's/dial:\([0-9]*\),/dial:\1-/g'; }

# joint NAME "PART..." SCHEMES OPTIONS...: tables of these designs of several parts, of whose runs NAME/runs.csv is made.
joint() {
    name=$1 files=
    for p in $2; do files="$files $out/$p/runs.csv"; done
    case ,$only, in *",$name,"*) ;; *) return 0 ;; esac
    mkdir -p "$out/$name"
    # shellcheck disable=SC2086
    awk -F, -v names=",$(spelt "$3")," 'NR == 1 || FNR > 1 && index(names, "," $1 ",")' $files >"$out/$name/runs.csv"
    # shellcheck disable=SC2086
    "$trotter" compare $recipe $narrow $trained --seed "$first" --seeds "$seeds" $file --scheme "$3" $extra --baseline "$4" --out "$out/$name"
}

# shellcheck disable=SC2086
{
    part tune $narrow --scheme dial:2,0,dial:2,1,looped:2 --baseline dial:2,1 --tune --tune-rate 4e-3,8e-3,1.6e-2 \
        --tune-dropout 0 --seeds 1
    part two $narrow --baseline dial:2,1 $trained --seed "$first" --seeds "$seeds" --scheme $levels \
        --contrast "dial:2,1 fgfg2 - dial:2,1/2 looped:2" --contrast "looped:2 fgfg2 - dial:2,1/2 dial:2,1" \
        --contrast "fgfg2 dial:2,1/2 - looped:2 dial:2,1"
    part low $narrow --baseline dial:2,1/4 $trained --seed "$first" --seeds "$seeds" --scheme dial:2,1/4,dial:2,3/8
    part others $narrow --baseline repeat:2 $trained --seed "$first" --seeds "$seeds" $file --scheme $others
    part papers $narrow --baseline polynet $trained --seed "$first" --seeds "$seeds" --scheme $papers
    part four $narrow --scheme dial:4,0,dial:4,1/4,dial:4,1/3,dial:4,1/2,dial:4,1 --baseline dial:4,1/3 $trained --seed "$first" --seeds "$seeds"
    part three $narrow --baseline dial:3,1/3 $trained --seed "$first" --seeds "$seeds" $file --scheme $three
    part parts --width 64 --inner 192 --baseline looped:2 $trained --seed "$first" --seeds "$seeds" $file --scheme looped:2,macaron,parted
    part confirm $narrow --baseline repeat:2 $trained --seed $((first + 8)) --seeds "$seeds" $file --scheme repeat:2,fgfg-error
    part wide $wide --baseline dial:2,1 --scheme dial:2,0,dial:2,1/2,dial:2,1,looped:2 $trained --seed "$first" --seeds 6
    joint all "two low others three four" \
        "$levels,dial:2,1/4,dial:2,3/8,$others,$three,dial:4,1/4,dial:4,1/3,dial:4,1/2,dial:4,1" dial:2,1
    joint blocks "two others papers" "fgfg-error,transformer,heun-layer,repeat:2,rk2-gate,$papers" fgfg-error
    seeds=$((2 * seeds))
    joint sixteen "others confirm" repeat:2,fgfg-error repeat:2
}
