#!/bin/sh
# recorded.sh: makes the comparisons in studies/results again from their recorded runs; nothing is trained.
#
#   sh studies/scripts/recorded.sh --corpus DIR
#
# Needs build/trotter and DIR, the Penn Treebank's folder, whose unigram perplexities and sizes stand in the tables. Each
# folder's compare.csv, compare.md, correlations.csv and published.* are written over, where it has them: `git diff` shows
# what a change of the statistics does to them. `one-layer` is made of the runs of four folders.
set -euf
cd "$(dirname "$0")/../.."
[ $# = 2 ] && [ "$1" = --corpus ] || { sed -n '2,/^set/s/^# \{0,1\}//p' studies/scripts/recorded.sh >&2; exit 2; }
corpus=$(cd "$2" && pwd -P)
results=$(pwd -P)/studies/results program=$(pwd -P)/build/trotter
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$corpus" "$work/ptb" # the name that the tables have
cd "$work"

recipe="--corpus ptb --width 128 --inner 512 --heads 4 --sequence 64 --batch-tokens 1024 --dropout 0 --rate 4e-3 --warmup 400
        --activation gelu --precision bf16 --threads 1"
long="--epochs 8" brief="--epochs 2 --schedule linear"

# again FOLDER SCHEMES "FROM..." OPTIONS...: its tables.
again() {
    folder=$results/$1 schemes=$2 from=
    for f in $3; do from="$from --from $results/$f"; done
    shift 3
    "$program" compare $recipe "$@" $from --scheme "$schemes" --out new >table.txt 2>words.txt || { cat words.txt >&2; exit 1; }
    for f in compare.csv compare.md correlations.csv runs.csv published.csv published.md published.svg; do
        # runs.csv is what was recorded, but for the table that has its runs from others
        [ "$f" = runs.csv ] && [ "$folder" != "$results/one-layer" ] || [ ! -e "$folder/$f" ] || cp "new/$f" "$folder/$f"
    done
    rm -rf new
    echo "${folder#"$results"/}"
}

# recorded FOLDER OPTIONS...: of the schemes that its table has.
recorded() {
    name=$1
    shift
    schemes=$(awk -F, 'NR > 1 && $1 != "unigram" { printf "%s%s", n++ ? "," : "", $1 }' "$results/$name/compare.csv")
    again "$name" "$schemes" "$name" "$@"
}

recorded ptb $long --seeds 3
recorded ptb/four-layers --epochs 7 --seeds 3 --layers 4
recorded tables/table5 $long --seeds 3
recorded tables/macaron $long --seeds 3
recorded tables/controls $long --seeds 3
recorded tables/controls/seed1 $long --seeds 1
recorded tables/designs $brief --seeds 1 --layers 4
recorded tables/layers $brief --seeds 3 --layers 2
recorded tables/baseline $brief --seeds 1
recorded tables/sentences $brief --seeds 1 --context sentence
recorded tables/relative $brief --seeds 1 --positions both
recorded tables/untied $brief --seeds 1 --untied
recorded tables/history $brief --seeds 1 --layers 2
again one-layer transformer,macaron,att-ffn-att,no-residual,rk2-gate,heun-layer,heun,strang-marchuk:heun,looped:2,repeat:2,looped:4,repeat:4,rk4-layer \
    "ptb tables/macaron tables/controls tables/table5" $long --seeds 3
