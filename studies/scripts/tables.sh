#!/bin/sh
# tables.sh: the source papers' language-model tables, trained under one recipe, in order of importance.
#
#   sh studies/scripts/tables.sh --corpus DIR [--wikitext DIR] [--out DIR] [--full] [--jobs N] [--only NAME,...]
#                        [--first N] [--seeds N] [--errors N] [--device D] [--precision P] [--list] [--help]
#
#   table5       ODE Transformer, table 5: residual, RK2, RK2 with unit weights, with a gate, RK4; one layer
#   macaron      Macaron Net: macaron, att-ffn-att, no-residual; and the true second-order splitting
#   designs      tables 7 and 10 as language models of 4 layers: leapfrog, multistep, DLCL, PolyNet, weight
#                sharing, scalars, gates; ab2, ab3; looped:2, Runge-Kutta methods over F + G
#   words        Sandwich Transformer, tables 1 and 2, figures 2 to 6, on --corpus
#   words-characters, words-wikitext
#                the same on letters, and on --wikitext
#   layers       table 5 with two layers
#   layers-long  the same for as many epochs as table5
#   released     two layers with the defaults of the ODE Transformer's released code, as far as known: relative positions
#                beside sinusoids, an output matrix of its own, no final norm; dense history (dlcl, rk2-dlcl), its first release's
#                decoder (repeat:2), and Runge-Kutta blocks whose slopes are whole layers (rk2-released, rk4-released)
#   operators    figure 4 of the ODE Transformer: Runge-Kutta over attention, over feed-forward, over the layer
#   controls     evaluations equal: looped:N, repeat:N; and Runge-Kutta methods over F + G
#   equal        its three rows that table5 is to be read beside: looped:2, looped:4, repeat:4 (rk2-unit is repeat:2)
#   masks-step, masks-stage
#                dropout .1, with one mask a step for all evaluations of a block, or one for each (results/masks/plan.txt)
#   baseline, sentences, relative, untied, history
#                one factor at a time on the residual and RK2 rows of table 5
#
# DIR (out/tables) gets a folder a table, which `trotter report DIR` makes a page of. Every command goes on where it
# was stopped, so the script is given again after a stop, and by as many processes as there are cores (--jobs
# N starts that many of each command; they share the trainings). table5, macaron, controls, equal, layers-long and
# released have the recipe of studies/results/ptb (d 128, 8 epochs); the other tables the same for 2 epochs with a rate
# that falls to 0 (a quarter of the time). --full is the papers' size and recipe, for all, each run until three epochs
# have not been better than its best, on a GPU or with --device cpu --precision bf16. It goes on with the same --jobs
# alone, since these share the processors. --seeds N are those from --first on; runs of other seeds are joined
# by putting the rows of runs.csv together. --errors N measures truncation errors on N sentences, 0 on none (16 with --full,
# else 64). Corpora are folders with train, valid and test text; without --wikitext that table is left out. --list
# shows the commands alone, and needs no corpus. Exit status: of the first that failed.
set -uf
here=$(pwd -P)
cd "$(dirname "$0")/../.." || exit 2

refuse() {
    echo "tables.sh: $*" >&2
    exit 2
}

number() {
    case $2 in '' | 0* | *[!0-9]* | ????*) refuse "$1 $2: expected a number from 1 to 999" ;; esac
}

out= corpus= wikitext= jobs=1 only= full=0 list=0 first=1 count= errors= device= precision=
while [ $# -gt 0 ]; do
    case $1 in
    --full) full=1 ;;
    --list) list=1 ;;
    --help)
        sed -n '2,/^set/s/^# \{0,1\}//p' studies/scripts/tables.sh
        exit 0 ;;
    --out | --corpus | --wikitext | --jobs | --only | --first | --device | --precision)
        [ $# -gt 1 ] || refuse "$1 needs a value"
        eval "${1#--}=\$2"
        shift ;;
    --seeds)
        [ $# -gt 1 ] || refuse "$1 needs a value"
        count=$2
        shift ;;
    --errors)
        [ $# -gt 1 ] || refuse "$1 needs a value"
        case $2 in 0) ;; *) number "$1" "$2" ;; esac
        errors=$2
        shift ;;
    *) refuse "$1: no such option (--help tells those there are)" ;;
    esac
    shift
done
number --jobs "$jobs"
number --first "$first"
[ -z "$count" ] || number --seeds "$count"

# A path is of the caller's folder; as given where that is this one, since a run's config.ini keeps the spelling.
place() {
    case $1 in
    '' | /*) ;;
    *) [ "$here" = "$(pwd -P)" ] || printf '%s/' "$here" ;;
    esac
    printf '%s\n' "$1"
}
out=$(place "$out") corpus=$(place "$corpus") wikitext=$(place "$wikitext")
: "${out:=out/tables}"
[ -n "$corpus" ] || [ $list = 0 ] || corpus=DIR
[ -n "$corpus" ] || refuse "--corpus DIR is needed, the Penn Treebank's folder"

if [ $full = 1 ]; then
    recipe="--width 512 --inner 2048 --heads 8 --sequence 128 --batch-tokens 4096 --beta2 0.997
            --rate 7e-4 --warmup 2000 --device ${device:-cuda} --precision ${precision:-tf32}
            --threads $(($(nproc) > jobs ? $(nproc) / jobs : 1))"
    seeds=5 dropout=0.1 context=sentence other=stream
    errors="--truncation ${errors:-16} --truncation-tolerance 1e-5" # of networks with kinks; 1e-6 takes three times as long
    long="--epochs 20 --patience 3"
    brief=$long letters=$long wiki=
    words="--pairs 8 --permutations 20 --random 20"
else
    recipe="--width 128 --inner 512 --heads 4 --batch-tokens 1024 --rate 4e-3 --warmup 400
            --activation gelu ${device:+--device $device }--precision ${precision:-bf16} --threads 1"
    seeds=3 dropout=0 context=stream other=sentence
    errors="--truncation ${errors:-64}"
    long="--sequence 64 --epochs 8" brief="--sequence 64 --epochs 2 --schedule linear"
    letters="--sequence 128 --epochs 2 --schedule linear --max-steps 1500" wiki="--adaptive 4000,12000 --max-steps 2000"
    words="--pairs 4 --permutations 6 --random 6"
fi
table5=transformer,heun-layer,rk2-unit,rk2-gate,rk4-layer
rows=transformer,heun-layer
[ -z "$count" ] || seeds=$count
[ "$first" = 1 ] || recipe="$recipe --seed $first"
status=0

wanted() {
    case ,$only, in ,, | *",$1,"*) return 0 ;; esac
    return 1
}

# shared RUNS TABLE COMMAND...: tables that differ in schemes and layers alone have the same trainings, each done once.
shared() {
    runs=$1
    shift
    if wanted "$1" && [ $mode = train ]; then
        mkdir -p "$out/$runs" "$out/$1" && ln -sfn "../$runs" "$out/$1/runs" || exit 2
    fi
    study "$@"
}

# The command of a table, once in each of --jobs processes.
study() {
    name=$1 command=$2
    shift 2
    names=${names:+$names,}$name
    wanted "$name" || return 0
    set -- build/trotter "$command" $recipe --dropout $dropout "$@" --out "$out/$name"
    [ $mode != names ] || return 0
    echo "$name: $*"
    [ $mode = train ] || return 0
    mkdir -p "$out" || exit 2
    children=
    for j in $(seq "$jobs"); do
        "$@" >"$out/$name.$j.out" 2>"$out/$name.$j.log" </dev/null &
        children="$children $!"
    done
    trap 'kill -INT $children; wait; exit 130' INT TERM
    for child in $children; do
        wait "$child" || { code=$?; [ $status != 0 ] || status=$code; }
    done
    trap - INT TERM
    tail -1 "$out/$name.1.log"
}

tables() {
    names=
    shared runs table5 compare $long --corpus "$corpus" --context $context --layers 1 --seeds $seeds $errors \
        --scheme $table5
    shared runs macaron compare $long --corpus "$corpus" --context $context --layers 1 --seeds $seeds $errors \
        --scheme transformer,macaron,strang-marchuk:heun,att-ffn-att,no-residual
    shared runs-brief designs compare $brief --corpus "$corpus" --context $context --layers 4 --seeds 1 $errors \
        --scheme transformer,leapfrog,leapfrog-layer,lm-resnet,dlcl,polynet,repeat:2,heun-layer,rk2-unit,rk2-scalar,rk2-sigmoid,rk2-gate,rk2-tanh,ab2,ab3,looped:2,heun,ssprk3,rk4,yoshida4:heun
    study words sweep $brief --corpus "$corpus" --context $context $words --interleaved --sandwiches --confirm
    study words-characters sweep $letters --corpus kjv --level char $words --interleaved --sandwiches --confirm
    if [ -n "$wikitext" ] || [ $mode = names ]; then
        study words-wikitext sweep $brief $wiki --corpus "$wikitext" $words --interleaved --sandwiches --confirm
    fi
    shared runs-brief layers compare $brief --corpus "$corpus" --context $context --layers 2 --seeds $seeds $errors \
        --scheme $table5
    shared runs layers-long compare $long --corpus "$corpus" --context $context --layers 2 --seeds $seeds $errors \
        --scheme $table5
    study released compare $long --corpus "$corpus" --context $context --layers 2 --seeds $seeds $errors \
        --positions both --untied --no-final-norm --baseline dlcl --scheme dlcl,repeat:2,rk2-dlcl,rk2-released,rk4-released
    shared runs-brief operators compare $brief --corpus "$corpus" --context $context --layers 1 --seeds $seeds $errors \
        --scheme transformer,heun-F,heun-G,heun-layer,rk4-F,rk4-G,rk4-layer
    shared runs controls compare $long --corpus "$corpus" --context $context --layers 1 --seeds $seeds $errors \
        --scheme transformer,looped:2,repeat:2,looped:4,repeat:4,heun,ssprk3,rk4,yoshida4:heun
    shared runs equal compare $long --corpus "$corpus" --context $context --layers 1 --seeds $seeds $errors \
        --scheme looped:2,looped:4,repeat:4
    own=$dropout dropout=0.1
    for masks in step stage; do
        study masks-$masks compare $long --corpus "$corpus" --context $context --layers 1 --seeds $seeds $errors \
            --masks $masks --scheme $([ $masks = stage ] || echo transformer,)repeat:2,repeat:4,rk4-layer
    done
    dropout=$own
    shared runs-brief baseline compare $brief --corpus "$corpus" --context $context --layers 1 --seeds 1 --scheme $rows
    study sentences compare $brief --corpus "$corpus" --context $other --layers 1 --seeds 1 --scheme $rows
    study relative compare $brief --corpus "$corpus" --context $context --positions both --layers 1 --seeds 1 --scheme $rows
    study untied compare $brief --corpus "$corpus" --context $context --untied --layers 1 --seeds 1 --scheme $rows
    shared runs-brief history compare $brief --corpus "$corpus" --context $context --layers 2 --seeds 1 --scheme $rows,dlcl,rk2-dlcl
}

mode=names
tables
case $only in ,* | *, | *,,*) refuse "--only $only: a name is missing" ;; esac
IFS=,
for name in $only; do
    case ,$names, in *",$name,"*) ;; *) refuse "--only $name: no such table; there are $names" ;; esac
    [ "$name$wikitext" != words-wikitext ] || refuse "words-wikitext needs --wikitext DIR"
done
unset IFS
mode=train
[ $list = 0 ] || mode=list
tables
exit $status
