#!/bin/sh
# planned.sh: trains the planned studies of studies/results/planned, each by its name. Those that end in -64 or -128 are of a processor's
# size (--device cpu --precision f32), one to two hours of one core each; the others need a GPU.
#
#   sh studies/scripts/planned.sh NAME --corpus DIR [--glue DIR] --out OUT [--processes N] [--device D] [--precision P] [--list]
#
#   moonshot     fgfg-error beside repeat:2, d 512
#   moonshot-64  the same at d 64 on the King James text (--corpus kjv), as depth-64 and sandwich-64
#   many-64      blocks found by their truncation error in 16 layers, beside 16 drawn ones (--corpus kjv; needs python3)
#   many-long-64 the same with other layers, draws and seeds, and four epochs
#   penalty-64   three schemes, trained with penalties on the truncation error of their step and, as a control, on its displacement (--corpus kjv)
#   stage-64     order 2 beside order 1 at the same place of the second stage, d 64, two epochs; twenty schemes (--corpus kjv)
#   depth        eight schemes at 1 to 12 layers; depth-64: two at 1 to 8
#   depth-fair-64  five at 1 to 8 layers, each at its own rate at each depth, beside a control of equal time (--corpus kjv)
#   translation  nine pairs of schemes at 6 + 6 layers; --corpus has Multi30k. TR_SEEDS=N is the number of seeds that the plan then has; translation-64: two pairs
#   sandwich     24 words of 16 + 16 sublayers, as sandwich-64
#   masked       encoders of 12 layers; --glue has SST-2 and CoLA
#
# The other corpus is WikiText-2, in words. N processes (4) share the trainings. A stopped study goes on with the same command. --list shows the commands alone. Afterwards
# `trotter table OUT/NAME/runs.csv --plan studies/results/planned/NAME.txt` has the primary contrast, and git says that the plan was older than the data.
set -eu
. "$(dirname "$0")/shared.sh"
cd "$(dirname "$0")/../.."
plans=studies/results/planned
name=${1:-} corpus='' glue='' out='' processes=4 device=cuda precision=bf16 list=0
[ -f "$plans/$name.txt" ] || usage
shift
while [ $# -gt 0 ]; do
    case $1 in
    --list)
        list=1
        shift ;;
    *) take_option "--corpus --glue --out --processes --device --precision" "$@" && shift 2 ;;
    esac
done
[ $list = 0 ] || : "${corpus:=DIR}" "${glue:=DIR}" "${out:=OUT}"
[ -n "$corpus" ] && [ -n "$out" ] || refuse "--corpus DIR and --out OUT are needed"
[ "$name" != masked ] || [ -n "$glue" ] || refuse "masked needs --glue DIR"
trotter=${TROTTER:-build/trotter}
machine="--device $device --precision $precision"

# study FOLDER COMMAND OPTIONS...: by all processes at once.
study() {
    folder=$out/$1 command=$2
    shift 2
    # shellcheck disable=SC2086
    set -- "$trotter" "$command" --corpus "$corpus" $machine "$@" --out "$folder"
    if [ $list = 1 ]; then echo "$*"; return; fi
    mkdir -p "$folder"
    together "$folder-process" "$@"
}

# step FILE COMMAND...: makes a file by a command, once.
step() {
    file=$1
    shift
    if [ $list = 1 ]; then echo "$*"; return; fi
    [ -e "$file" ] || "$@"
}

# numbered KIND FIRST LAST: the blocks KIND-FIRST to KIND-LAST of file $blocks, those which were left out as like another one not.
numbered() {
    if [ $list = 1 ]; then echo "$1-$2,...,$1-$3"; return; fi
    sed -n "s/^scheme \($1-[0-9]*\)$/\1/p" "$blocks" | awk -F- -v a="$2" -v b="$3" '$2 >= a && $2 <= b' | paste -sd, -
}

# many STUDY LAYER EPOCHS TRIAL FIRST: searches in sixteen layers of seeds from LAYER on, as many drawn blocks, and their controls: a rate a kind by trials
# of seed TRIAL, and two seeds from FIRST on.
many() {
    into=$1 layer=$2 trial=$4 first=$5 home=$out/$1 blocks=$out/$1/many.scheme
    recipe="$short64 --layers 1 --sequence 64 --vocabulary 2000 --epochs $3 --dropout 0"
    [ $list = 1 ] || mkdir -p "$home"
    for seed in $(seq "$layer" $((layer + 15))); do
        # shellcheck disable=SC2086
        step "$home/layer/$seed/result.csv" "$trotter" train --corpus "$corpus" $machine --scheme looped:2 $recipe --rate 1.13e-2 --seed "$seed" \
            --out "$home/layer/$seed"
        step "$home/search/$seed/result.scheme" "$trotter" design --scheme-file studies/theory/design/forms.scheme --scheme fgfg --objective error --order 1 \
            --model "$home/layer/$seed" --text kjv:train --sentences 16 --tokens 64 --starts 4 --evaluations 2000 --seed "$seed" --beside looped:2 \
            --out "$home/search/$seed"
    done
    step "$blocks" sh -c 'python3 studies/scripts/many.py blocks "$1/search" > "$1/many.made" && mv "$1/many.made" "$1/many.scheme"' - "$home"
    found=$(numbered found 01 03) drawn=$(numbered drawn 01 03)
    # shellcheck disable=SC2086
    set -- --scheme-file "$blocks" --scheme-file studies/schemes/study.scheme $recipe
    study "$into/rates" compare "$@" --scheme "$found,$drawn,looped:2,repeat:2,fgfg-error" --vary rate=8e-3,1.13e-2,1.6e-2,2.26e-2 --seed "$trial" --seeds 1 \
        --truncation 0
    for kind in "found $found" "drawn $drawn" looped:2 repeat:2 fgfg-error; do
        name=${kind%% *} rate=RATE
        [ $list = 1 ] || rate=$(python3 studies/scripts/many.py rate "$home/rates/runs.csv" "${kind#* }")
        case $name in found | drawn) schemes=$(numbered "$name" 01 16) ;; *) schemes=$name ;; esac
        study "$into/$(echo "$name" | tr -d :)" compare "$@" --scheme "$schemes" --seed "$first" --seeds 2 --rate "$rate" --truncation 8
    done
}

long="--epochs 20 --patience 3"
# small WARMUP: the recipe of a processor's size.
small() { echo "--width 64 --inner 256 --heads 4 --activation gelu --batch-tokens 1024 --warmup $1 --schedule linear --threads 1"; }
d64=$(small 400) short64=$(small 83)
d256="--width 256 --inner 1024 --heads 4 --sequence 128 --batch-tokens 4096 --rate 7e-4 --warmup 1000"
case $name in
moonshot)
    # shellcheck disable=SC2086
    study moonshot compare --scheme-file studies/schemes/study.scheme --scheme repeat:2,fgfg-error --baseline repeat:2 --seed 101 --seeds 24 \
        --width 512 --inner 2048 --heads 8 --context sentence --sequence 128 --batch-tokens 4096 --beta2 0.997 --warmup 2000 $long \
        --tune --tune-rate 3.5e-4,7e-4,1.4e-3 --tune-dropout 0.1,0.3 --tune-seed 900 --truncation 8 --truncation-tolerance 1e-5 ;;
moonshot-64)
    # shellcheck disable=SC2086
    study moonshot-64 compare --scheme-file studies/schemes/study.scheme --scheme repeat:2,fgfg-error --baseline repeat:2 --seed 601 --seeds 16 \
        $d64 --sequence 64 --epochs 4 --tune --tune-rate 4e-3,8e-3,1.6e-2 --tune-dropout 0 --tune-seed 600 --truncation 16 ;;
stage-64)
    # shellcheck disable=SC2086
    study stage-64 compare --scheme-file studies/schemes/stage.scheme --scheme "$(sed -n 's/^scheme //p' studies/schemes/stage.scheme | paste -sd, -),looped:2" \
        --baseline looped:2 --seed 651 --seeds 4 $d64 --sequence 64 --epochs 2 --tune --tune-rate 8e-3,1.13e-2,1.6e-2,2.26e-2 --tune-dropout 0 --tune-seed 650 \
        --truncation 16 ;;
many-64) many many-64 671 1 670 687 ;;
many-long-64) many many-long-64 701 4 691 692 ;;
penalty-64)
    for scheme in looped:2 heun-layer fgfg-error; do
        # shellcheck disable=SC2086
        study "penalty-64/$(echo "$scheme" | tr -d :)" compare --scheme-file studies/schemes/study.scheme --scheme "$scheme" --vary \
            "step-penalty=error=0,$(sed -n "s/^# penalties $scheme //p" $plans/penalty-64.txt)" --seed 731 --seeds 6 $short64 \
            --sequence 64 --vocabulary 2000 --epochs 4 --dropout 0 --tune --tune-rate 8e-3,1.13e-2,1.6e-2 --tune-dropout 0 --tune-seed 730 --truncation 8
    done ;;
depth)
    # shellcheck disable=SC2086
    study depth compare --scheme transformer,heun-layer,rk2-gate,repeat:2,looped:4,rk4-layer,repeat:4,macaron --baseline repeat:4 --layers 1,2,4,6,12 \
        --by-depth --seed 201 --seeds 4 $d256 --dropout 0.3 $long --truncation 0 ;;
depth-64)
    # shellcheck disable=SC2086
    study depth-64 compare --scheme rk4-layer,repeat:4 --baseline repeat:4 --layers 1,2,4,8 --by-depth --seed 621 --seeds 4 $d64 --sequence 64 --rate 4e-3 --dropout 0 \
        --epochs 2 --truncation 0 ;;
depth-fair-64)
    # shellcheck disable=SC2086
    study depth-fair-64 compare --scheme transformer,heun-layer,looped:4,repeat:4,rk4-layer --baseline looped:4 --layers 1,2,4,8 --by-depth --seed 751 --seeds 6 --epochs 2 \
        $short64 --sequence 64 --vocabulary 2000 --dropout 0 --tune --tune-rate 4e-3,5.66e-3,8e-3,1.13e-2 --tune-dropout 0 \
        --tune-seed 750 --truncation 0 ;;
translation-64)
    # shellcheck disable=SC2086
    study translation-64 compare --source en --target de --bpe 4000 --layers 6 $d64 --rate 4e-3 --dropout 0 --label-smoothing 0.1 --beta2 0.98 --epochs 8 \
        --truncation 0 --seed 641 --seeds 6 --pair transformer/transformer,macaron/macaron ;;
translation)
    pairs="--source en --target de --bpe 10000 --layers 6 $d256 --dropout 0.3 --label-smoothing 0.1 --beta2 0.98 --epochs 30 --patience 5 --truncation 0"
    # shellcheck disable=SC2086
    study translation-spread compare $pairs --seed 301 --seeds 6 --pair transformer/transformer
    # shellcheck disable=SC2086
    [ -z "${TR_SEEDS:-}" ] || study translation compare $pairs --seed 311 --seeds "$TR_SEEDS" --pair \
        transformer/transformer,macaron/macaron,rk2-gate/transformer,repeat:2/transformer,looped:2/transformer,rk4-layer/transformer,repeat:4/transformer,looped:4/transformer,transformer/strang-decoder ;;
sandwich)
    # shellcheck disable=SC2086
    study sandwich sweep --pairs 16 --words "$(sed -n 's/^# word //p' $plans/sandwich.txt | paste -sd, -)" --seed 401 --seeds 2 $d256 --dropout 0.2 $long ;;
sandwich-64)
    # shellcheck disable=SC2086
    study sandwich-64 sweep --pairs 16 --words "$(sed -n 's/^# word //p' $plans/sandwich.txt | paste -sd, -)" --seed 631 --seeds 2 $d64 --sequence 64 --rate 4e-3 --dropout 0 \
        --epochs 2 ;;
masked)
    # shellcheck disable=SC2086
    study masked compare --objective masked --bpe 8000 --layers 12 --scheme transformer,macaron,att-ffn-att --seed 501 --seeds 5 --width 256 --inner 1024 --heads 4 \
        --sequence 128 --activation gelu --dropout 0.1 --batch-tokens 4096 --rate 2e-3 --warmup 1000 --schedule linear --epochs 40 --truncation 0
    for task in sst2 cola; do
        together=
        for run in "$out"/masked/runs/*-layers12-seed*/; do
            folder=$out/$task-$(basename "$run")
            [ $list = 1 ] || [ -e "$folder/predictions.csv" ] || "$trotter" finetune --model "${run%/}" --data "$glue" --task $task --device "$device" --out "$folder"
            together=${together:+$together,}$folder
        done
        [ $list = 1 ] || "$trotter" finetune --together "$together" --out "$out/$task"
    done ;;
esac
