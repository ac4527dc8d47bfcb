#!/bin/sh
# translation.sh: runs the recorded studies of translation, on Multi30k's English and German (Elliott et al. 2016),
# lower-cased and tokenised: train.en, val.en, test_2016_flickr.en and the same in .de.
#
#   sh studies/scripts/translation.sh --corpus DIR --out OUT [--only tiny,pairs] [--seeds 1,2] [--processes N]
#       [--precision f32|bf16]
#
# tiny   the published recipe of Transformer-tiny (Wu et al. 2021): d 128, 4 + 4 layers, post-norm, the mean of the last ten
#        epochs, beam 5. OUT/tiny-SEED; OUT/tiny.csv has a row a seed. --precision (f32) is for tiny.
# pairs  pre-norm, one recipe for all pairs of schemes: `trotter compare` with as many seeds, from the first on, OUT/pairs, by N
#        processes of one thread each (default: one a core).
#
# Unfinished runs go on and finished ones stay, so that the same command can be given again. A seed of tiny takes about two
# hours on two cores, one of pairs about one and a half. The script needs build/trotter; the text is not in this repository.
set -eu
. "$(dirname "$0")/shared.sh"
cd "$(dirname "$0")/../.."
corpus='' out='' precision=f32 only=tiny,pairs seeds=1,2 processes=$(nproc)
while [ $# -gt 0 ]; do take_option "--corpus --out --only --seeds --processes --precision" "$@" && shift 2; done
[ -n "$corpus" ] && [ -n "$out" ] || usage
trotter=${TROTTER:-build/trotter}
[ -x "$trotter" ] || refuse "$trotter is not there: make build"
mkdir -p "$out"
text="--corpus $corpus --source en --target de --bpe 10000 --sequence 128"

# The recipe is that of Wu et al. 2021 and its logs; smoothing .1 is over the whole vocabulary in both.
tiny="--encoder transformer --decoder transformer --layers 4 --width 128 --inner 256 --heads 4 --norm post --activation relu
      --dropout 0.3 --attention-dropout 0 --activation-dropout 0 --label-smoothing 0.1 --beta2 0.98 --rate 5e-3 --warmup 2000
      --batch-tokens 4096 --accumulate 2 --epochs 160 --max-steps 8000 --patience 10 --average 10 --untested"

pairs="--layers 2 --width 128 --inner 512 --heads 4 --activation gelu --dropout 0.2 --attention-dropout 0
       --activation-dropout 0 --label-smoothing 0.1 --beta2 0.98 --rate 4e-3 --warmup 300 --schedule linear
       --batch-tokens 2048 --epochs 12 --threads 1
       --pair transformer/transformer,macaron/macaron,rk2-gate/transformer,rk4-layer/transformer,looped:2/transformer,repeat:2/transformer,transformer/strang-decoder,sandwich:2-1@1/transformer,transformer/sandwich:2-1@1"

has() { case ,$only, in *",$1,"*) true ;; *) false ;; esac; }

for seed in $(echo "$seeds" | tr , ' '); do
    if has tiny && [ ! -e "$out/tiny-$seed/test.out" ]; then
        resume=
        [ ! -e "$out/tiny-$seed/config.ini" ] || resume=--resume
        # shellcheck disable=SC2086
        "$trotter" train $text $tiny --precision "$precision" --seed "$seed" --out "$out/tiny-$seed" $resume
        for split in val test; do
            file=$(ls "$corpus"/$split*.en)
            "$trotter" translate --model "$out/tiny-$seed" --text "$file" --out "$out/tiny-$seed/$split.out"
            "$trotter" bleu --reference "${file%.en}.de" --hypothesis "$out/tiny-$seed/$split.out" --tokenize none --csv \
                >"$out/tiny-$seed/$split.csv"
        done
        about >"$out/tiny-$seed/about.txt"
    fi
done

if has pairs; then
    # shellcheck disable=SC2046
    set -- $(echo "$seeds" | tr , ' ')
    # shellcheck disable=SC2086
    together "$out/process" "$trotter" compare $text $pairs --seeds $# --seed "$1" --out "$out/pairs"
    about >"$out/pairs/about.txt"
fi

if has tiny; then
    echo 'seed,valid_bleu,test_bleu,test_chrf' >"$out/tiny.csv"
    for d in "$out"/tiny-*/; do
        [ -e "$d/test.csv" ] || continue
        # the third column of bleu's table is the score; chrF2 is its second row
        awk -F, -v seed="${d#"$out"/tiny-}" 'FNR == 1 { file++ } FNR == 2 { bleu[file] = $3 } FNR == 3 { chrf[file] = $3 }
            END { sub("/", "", seed); print seed "," bleu[1] "," bleu[2] "," chrf[2] }' "$d/val.csv" "$d/test.csv" >>"$out/tiny.csv"
    done
    cat "$out/tiny.csv"
fi
