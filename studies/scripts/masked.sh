#!/bin/sh
# masked.sh: runs the recorded studies of masked language models: encoders of several schemes are pre-trained on WikiText-2
# (Merity et al. 2017) and fine-tuned on SST-2 and CoLA (Socher et al. 2013; Warstadt, Singh, Bowman 2019).
#
#   sh studies/scripts/masked.sh --text DIR --glue DIR --out OUT [--seeds 1,2,3] [--processes N]
#
# DIR of --text has wiki.train.tokens or train.txt and so on, that of --glue CoLA and SST-2. For each seed OUT/masked-SEED is a
# `trotter compare` of pseudo-perplexity, by N processes of one thread each (default: one a core); OUT/TASK-SCHEME-SEED is a
# `trotter finetune` of each of its encoders. In the end OUT/sst2 and OUT/cola join all results so far.
#
# Unfinished runs go on and finished ones stay, so that the same command can be given again. A seed takes about an hour on two
# cores. The script needs build/trotter; the texts are not in this repository.
set -eu
. "$(dirname "$0")/shared.sh"
cd "$(dirname "$0")/../.."
text='' glue='' out='' seeds=1,2,3 processes=$(nproc)
while [ $# -gt 0 ]; do take_option "--text --glue --out --seeds --processes" "$@" && shift 2; done
[ -n "$text" ] && [ -n "$glue" ] && [ -n "$out" ] || usage
trotter=${TROTTER:-build/trotter}
[ -x "$trotter" ] || refuse "$trotter is not there: make build"
mkdir -p "$out"

# heun-layer is RK2 over the whole layer, with equal weights.
schemes='transformer macaron att-ffn-att heun-layer'
pretraining="--objective masked --corpus $text --bpe 8000 --sequence 64 --layers 2 --width 128 --inner 512 --heads 4
             --activation gelu --dropout 0.1 --batch-tokens 4096 --rate 2e-3 --warmup 300 --schedule linear --epochs 6
             --threads 1 --seeds 1"
# CoLA is raw text; SST-2 is already cut into words. It has eight times as many sentences, so it takes fewer epochs.
cola="--task cola --tokenize 13a --epochs 5 --seeds 2"
sst2="--task sst2 --epochs 2 --seeds 1"
grid="--data $glue --rates 3e-4,1e-3 --threads 1"

# pretrain SEED: all processes share the trainings of one comparison
# shellcheck disable=SC2086
pretrain() {
    "$trotter" compare $pretraining --scheme "$(echo "$schemes" | tr ' ' ,)" --seed "$1" --out "$out/masked-$1"
}

# finetune SEED TASK SCHEME
# shellcheck disable=SC2086
finetune() {
    eval "options=\$$2"
    [ -e "$out/$2-$3-$1/predictions.csv" ] ||
        "$trotter" finetune --model "$out/masked-$1/runs/$3-layers2-seed$1" $options $grid --out "$out/$2-$3-$1"
}

# finetune_some SEED: each process does every N-th fine-tuning
finetune_some() {
    n=0
    for task in sst2 cola; do
        for scheme in $schemes; do
            n=$((n + 1))
            [ $((n % processes + 1)) != "$process" ] || finetune "$1" $task "$scheme"
        done
    done
}

for seed in $(echo "$seeds" | tr , ' '); do
    together "$out/process" pretrain "$seed"
    about >"$out/masked-$seed/about.txt"
    together "$out/process" finetune_some "$seed"
done

for task in sst2 cola; do
    list=
    for scheme in $schemes; do # the others are compared with the first
        for d in "$out/$task-$scheme"-[0-9]*/; do
            [ ! -e "$d/predictions.csv" ] || list="$list,${d%/}"
        done
    done
    [ -z "$list" ] || "$trotter" finetune --together "${list#,}" --out "$out/$task"
done
