#!/bin/sh
# recorded.sh: makes the tables and plots of studies/results again from their recorded runs; nothing is trained.
#
#   sh studies/scripts/recorded.sh --corpus DIR [--wikitext DIR]
#
# The script needs build/trotter, gnuplot, and DIR, the Penn Treebank's folder, whose unigram perplexities and sizes
# stand in the tables. Without WikiText-2's folder its table stays as it is. The script overwrites a folder's
# compare.csv, correlations.csv, words.csv and plots, where it has them: `git diff` shows the
# effect of a change of the statistics or of the plots.
set -eu
cd "$(dirname "$0")/../.."
usage() { sed -n '2,/^set/s/^# \{0,1\}//p' studies/scripts/recorded.sh >&2; exit 2; }
[ $# -ge 2 ] && [ "$1" = --corpus ] || usage
corpus=$(cd "$2" && pwd -P) wikitext=
case $# in
2) ;;
4) [ "$3" = --wikitext ] || usage
   wikitext=$(cd "$4" && pwd -P) ;;
*) usage ;;
esac
results=$(pwd -P)/studies/results program=$(pwd -P)/build/trotter
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$corpus" "$work/ptb" # the tables have these names
[ -z "$wikitext" ] || ln -s "$wikitext" "$work/wikitext-2"
cd "$work"

recipe="--width 128 --inner 512 --heads 4 --batch-tokens 1024 --dropout 0 --rate 4e-3 --warmup 400 --activation gelu
        --precision bf16 --threads 1"
treebank="--corpus ptb --sequence 64"
sentences=4 # the truncation errors are of so many
long="--epochs 8" brief="--epochs 2 --schedule linear"

# take FOLDER FILE...: copies those new files that the folder already has.
take() {
    folder=$results/$1
    shift
    for f in "$@"; do
        [ ! -e "$folder/$f" ] || cp "new/$f" "$folder/$f"
    done
    rm -rf new
    echo "${folder#"$results"/}"
}

# make_new COMMAND...: runs the command into the folder `new`; prints its messages only where it fails.
make_new() { "$program" "$@" --out new >table.txt 2>words.txt || { cat words.txt >&2; exit 1; }; }

# begin FOLDER: makes the folder `new` with the folder's runs.
begin() { rm -rf new && mkdir new && cp "$results/$1/runs.csv" new; }

tables="runs.csv compare.csv differences.csv correlations.csv truncation.svg forest.svg"

# schemes FOLDER: prints the schemes of its table as one word.
schemes() { awk -F, 'NR > 1 && $1 != "unigram" && !seen[$1]++ { printf "%s%s", n++ ? "," : "", $1 }' "$results/$1/compare.csv"; }

# published_size FOLDER OPTIONS...: makes the tables of the published size again from the folder's own runs.
published_size() {
    name=$1
    shift
    begin "$name"
    make_new compare --width 512 --inner 2048 --heads 8 --sequence 128 --batch-tokens 4096 --dropout 0.1 --beta2 0.997 --rate 7e-4 \
        --warmup 2000 --precision bf16 --threads 1 --epochs 20 --patience 3 --corpus ptb --context sentence \
        --scheme "$(schemes "$name")" "$@"
    take "$name" $tables
}

# recorded FOLDER OPTIONS...: makes a folder's tables again from its own runs.
recorded() {
    name=$1
    shift
    begin "$name"
    make_new compare $recipe $treebank --truncation $sentences --scheme "$(schemes "$name")" "$@"
    take "$name" $tables
}

# dial PART...: makes parts of dial.sh again, by its recipe.
dial() {
    rm -rf dial && mkdir dial && (cd "$results/dial" && for d in */runs.csv; do mkdir -p "$work/dial/${d%/*}" && cp "$d" "$work/dial/$d"; done)
    for name; do
        TROTTER=$program sh "$results/../scripts/dial.sh" --corpus ptb --out dial --only "$name" --processes 1 \
            >table.txt 2>words.txt || { cat words.txt >&2; exit 1; }
        rm -rf new && cp -r "dial/$name" new
        take "dial/$name" $tables
    done
}

# planned NAME FILE...: makes files of a planned study again, by its command.
planned() {
    name=$1
    shift
    mkdir -p "$name" && cp "$results/$name/runs.csv" "$name"
    TROTTER=$program sh "$results/../scripts/planned.sh" "$name" --corpus kjv --device cpu --precision f32 --processes 1 --out "$work" \
        >table.txt 2>words.txt || { cat words.txt >&2; exit 1; }
    mv "$name" new
    take "$name" "$@"
}

# words NAME OPTIONS...: makes the sweep tables/NAME again.
words() {
    name=tables/$1
    shift
    begin "$name"
    make_new sweep $recipe $brief --pairs 4 --interleaved --sandwiches --confirm "$@"
    take "$name" runs.csv words.csv differences.csv correlations.csv area.svg
}

dial two low four others papers three confirm parts wide sixteen blocks all
recorded ptb $long --seeds 3
recorded ptb/four-layers --epochs 7 --seeds 3 --layers 4
recorded tables/table5 $long --seeds 3
recorded tables/macaron $long --seeds 3
recorded tables/controls $long --seeds 3
recorded tables/controls/seed1 $long --seeds 1
recorded tables/designs $brief --seeds 1 --layers 4
recorded tables/layers $brief --seeds 3 --layers 2
sentences=64
recorded tables/layers-long $long --seeds 3 --layers 2
sentences=16
recorded tables/operators $brief --seeds 3
sentences=4
recorded tables/baseline $brief --seeds 1
recorded tables/sentences $brief --seeds 1 --context sentence
recorded tables/relative $brief --seeds 1 --positions both
recorded tables/untied $brief --seeds 1 --untied
recorded tables/history $brief --seeds 1 --layers 2
published_size published --seeds 8 --all-pairs --truncation 8 --truncation-tolerance 1e-5
published_size published/cpu --seeds 1 --truncation 0
published_size published/released --layers 2 --seeds 2 --positions both --untied --no-final-norm --baseline dlcl --truncation 0
recorded one-layer $long --seeds 3
make_new table "$results/masks/runs.csv" --design scheme,masks --measure valid_ppl,test_ppl --plan "$results/masks/plan.txt"
take masks table.csv differences.csv forest.svg
make_new table "$results/moonshot-64/runs.csv" --measure test_ppl,valid_ppl --plan "$results/planned/moonshot-64.txt"
take moonshot-64 differences.csv forest.svg
planned depth-64 depth.csv depth.svg differences.csv
planned sandwich-64 words.csv correlations.csv area.svg
words words $treebank --permutations 4 --random 4
words words-characters --corpus kjv --level char --sequence 128 --max-steps 1500 --permutations 3 --random 3 --seeds 3
[ -z "$wikitext" ] ||
    words words-wikitext --corpus wikitext-2 --sequence 64 --adaptive 4000,12000 --max-steps 2000 --permutations 3 --random 3

if [ -n "$wikitext" ]; then
    begin masked/masked
    make_new compare --objective masked --corpus wikitext-2 --bpe 8000 --sequence 64 --layers 2 --width 128 --inner 512 --heads 4 \
        --activation gelu --dropout 0.1 --batch-tokens 4096 --rate 2e-3 --warmup 300 --schedule linear --epochs 6 --threads 1 \
        --truncation 16 --scheme transformer,macaron,att-ffn-att,heun-layer --seeds 3 --all-pairs
    take masked/masked $tables
fi

# ---- the demo, and its table in the first README
begin demo
TROTTER=$program sh "$results/../scripts/demo.sh" "$work/new" >table.txt 2>words.txt || { cat words.txt >&2; exit 1; }
take demo runs.csv compare.csv differences.csv
sh "$results/../scripts/demo.sh" --table "$results/../../README.md"

# ---- plots alone
make_new order --system attention --scheme euler,strang-marchuk:heun,rk3,rk4
take demo order.svg
cp "$results"/truncation/*-curves.csv .
make_new plot gelu-curves.csv relu-curves.csv --scheme transformer,heun,rk4
take truncation overlay.svg
