#!/bin/sh
# golden.sh TROTTER DIR: runs every command in small runs and saves their results in DIR: stdout, stderr, exit
# status, and the files of --out. Speeds, times and bytes are masked. Run it with two programs and compare:
#
#   sh tests/scripts/golden.sh build/before OLD; sh tests/scripts/golden.sh build/trotter NEW; diff -r OLD NEW
set -eu
program=$(realpath "$1")
mkdir -p "$2"
dir=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$program" "$work/bin/trotter"
PATH=$work/bin:$PATH
mkdir "$work/study"
cd "$work/study"
export OMP_WAIT_POLICY=passive OMP_NUM_THREADS=1 LC_ALL=C

# say NAME WORD...: runs one command; saves its output and its exit status.
say() {
    name=$1
    shift
    status=0
    trotter "$@" >"$dir/$name.out" 2>"$dir/$name.err" </dev/null || status=$?
    echo "$status" >>"$dir/$name.err"
}

cat >mine.scheme <<'END'
scheme gill
title  Runge-Kutta-Gill
source Gill 1951
let r = sqrt(2)
k1 = H(y)
k2 = H(y + 1/2*k1)
k3 = H(y + (r-1)/2*k1 + (2-r)/2*k2)
k4 = H(y - r/2*k2 + (1+r/2)*k3)
y' = y + 1/6*k1 + (2-r)/6*k2 + (2+r)/6*k3 + 1/6*k4
END
tiny='--corpus markov:64 --width 16 --inner 32 --heads 2 --sequence 16 --batch-tokens 256 --warmup 5 --rate 1e-2
      --threads 1 --kernel x86-64-v3'

say version --version
say overview --help
for c in $(trotter --help | sed -n 's/^  \([a-z0-9]*\) .*/\1/p'); do
    say "help-$c" "$c" --help
    say "help-all-$c" "$c" --help all
done
say unknown trian
say schemes schemes --csv
say schemes-text schemes --scheme-file mine.scheme --scheme gill,rk4,macaron,strang-marchuk:heun,ab2
say schemes-print schemes --print
say schemes-structure schemes --structure --csv
say schemes-out schemes --out schemes
say expand expand --scheme macaron,rk4,ab2 --degree 5 --csv
say expand-brackets expand --scheme strang-marchuk --basis brackets --degree 5 --out expand
say expand-latex expand --scheme macaron --latex
say stability stability --scheme rk4,ab2 --out stability
say design design --scheme looped-learn --objective real --evaluations 200 --out design
say stability-split stability --scheme macaron,heun --split --csv
say order order --csv
say order-text order --scheme rk4,heun,macaron --system linear --out order
say order-summary order --scheme rk4,strang-marchuk --system kuramoto --summary --csv
say order-invariant order --scheme leapfrog,rk4 --system kepler --invariant --t-end 20 --out invariant
say order-local order --scheme heun --local --csv
say plot plot order/order.csv --out plot
say verify verify --csv
say verify-out verify --out verify
say data data --corpus kjv
say data-csv data --corpus markov:64 --csv
say train train --scheme macaron $tiny --max-steps 12 --out train/macaron --csv
say train-adaptive train --scheme rk2-gate $tiny --max-steps 12 --corpus kjv --vocabulary 300 --adaptive 100,200 --out train/adaptive
say train-resume train --scheme macaron $tiny --max-steps 20 --resume --out train/macaron
say train-refused train --scheme macaron $tiny --max-steps 12 --rate 2e-2 --out train/macaron
say train-bad train --scheme macaron --width 7 --heads 2 --out train/bad
echo 'w1 w2 w3 w4' >text
say eval eval --model train/macaron --text text
say eval-csv eval --model train/macaron --text text --csv
say generate generate --model train/macaron --tokens 10 --seed 3
say train-masked train --scheme macaron $tiny --max-steps 12 --objective masked --out train/masked
say eval-masked eval --model train/masked --corpus markov:64 --csv
say eval-one-by-one eval --model train/masked --text text --one-by-one --csv
mkdir pairs
for i in train val test; do
    for n in 1 2 3 4 5 6 7 8; do echo "a cat saw $n dogs ."; echo "the dog sat on $n cats ."; done >pairs/$i.en
    for n in 1 2 3 4 5 6 7 8; do echo "eine Katze sah $n Hunde ."; echo "der Hund sass auf $n Katzen ."; done >pairs/$i.de
done
size='--width 16 --inner 32 --heads 2 --sequence 40 --batch-tokens 160 --warmup 5 --rate 1e-2 --threads 1 --kernel x86-64-v3'
read='--threads 1 --kernel x86-64-v3'
pairs="--corpus pairs --source en --target de"
say bpe-learn bpe --learn 12 --text pairs/train.en --text pairs/train.de --out codes
say bpe-apply bpe --codes codes --text pairs/test.de
say data-pairs data $pairs --bpe 12
say train-pairs train $pairs --bpe 12 --encoder rk4-layer $size --epochs 20 --max-steps 60 --best bleu --out train/pairs
say translate translate --model train/pairs --text pairs/test.en $read
say translate-nbest translate --model train/pairs --text pairs/test.en $read --nbest 3 --penalty gnmt --alpha 0.6 --no-repeat 3 --max-ratio 1.5
say translate-bad translate --model train/macaron --text pairs/test.en
say score score --model train/pairs --text pairs/test.de --source-text pairs/test.en $read --csv
say score-text score --model train/macaron --text text $read
set -- $pairs --pair transformer/transformer,macaron@2/strang-decoder --match none $size --epochs 20 --max-steps 60 --seeds 2 --truncation 1 --truncation-tokens 3
say compare-pairs compare "$@" --out compare-pairs
say compare-pairs-csv compare "$@" --out compare-pairs --csv
mkdir compare-pairs-again
cp compare-pairs/runs.csv compare-pairs/lines.csv compare-pairs/config.ini compare-pairs-again
say compare-pairs-again compare "$@" --out compare-pairs-again
say compare compare --scheme transformer,heun-layer,ab2 $tiny --max-steps 12 --layers 1,2 --seeds 3 --truncation 1 --truncation-tokens 8 --controls --out compare
say compare-csv compare --scheme transformer,heun-layer,ab2 $tiny --max-steps 12 --layers 1,2 --seeds 3 --truncation 1 --truncation-tokens 8 --controls --out compare --csv
say compare-tune compare --scheme transformer,euler $tiny --max-steps 3 --seeds 2 --tune --tune-rate 1e-2,1e-3 --tune-dropout 0 --truncation 0 --out tune
say sweep sweep --pairs 2 --interleaved --permutations 3 --random 2 --sandwiches --confirm $tiny --max-steps 4 --out sweep
say truncation truncation --model train/macaron --text text --scheme macaron,heun-layer --sentences 1 --out truncation
say truncation-jacobian truncation --model train/macaron --text text --jacobian --sentences 1 --out jacobian
say truncation-refine truncation --model train/macaron --text text --refine 2 --sentences 1 --out refine
say attention attention --model compare/runs/transformer-seed1 --model compare/runs/transformer-seed2 --text text --out attention
say bleu bleu --reference text --hypothesis text --csv
say bleu-two bleu --reference text --hypothesis text,text --metrics bleu,chrf --out bleu
say report report .
say manual manual --out manual

# ---- files, where values that change from run to run are masked ------------------------------------
mask='{ gsub(/[0-9.]+ tokens\/s/, "* tokens/s"); gsub(/[0-9.]+ lines\/s/, "* lines/s"); gsub(/[0-9.]+ sentences\/s/, "* sentences/s"); gsub(/peak [0-9]+ MB/, "peak * MB"); gsub(/in [0-9:.]+( s| min|$)/, "in *");
        gsub(/[0-9.]+( s| ms| MB| kB)([,;.: ]|$)/, "* "); gsub(/20[0-9][0-9]-[0-9][0-9]-[0-9][0-9][T 0-9:Z]*/, "DATE"); print }'
masked() { awk "$mask" "$@" | sed -E 's/^DATE[^ ]* [0-9]+:/DATE:/; /^truncation error of /d; s/ +[0-9]{3,6}\.[0-9]([ |\\]*)$/ *\1/; s/ *[0-9]{3,7}([ |&]+)[0-9]+([ |\\]*)$/ *\1*\2/'; }
csv='BEGIN { n = split("tokens_per_s sentences_per_s peak_bytes seconds time rank host date bytes_per_step wait_ms_per_step ms_per_step user cpu", v, " "); for (i = 1; i <= n; i++) bad[v[i]] = 1 }
     NR == 1 { n = split($0, head, ","); print; next }
     { m = split($0, cell, ","); if (m == n) { for (i = 1; i <= n; i++) if (head[i] in bad) cell[i] = "*"; s = cell[1]; for (i = 2; i <= n; i++) s = s "," cell[i]; print s } else print }'
find . -type f ! -name '*.png' ! -name '*.claim*' ! -name '*.svg' ! -name state.safetensors | sort | while IFS= read -r f; do
    out=$dir/files/${f#./}
    mkdir -p "$(dirname "$out")"
    case $f in
    *.csv) awk "$csv" "$f" | masked >"$out" ;;
    *.safetensors) { head -c 8 "$f" | od -An -tu8 && tail -c +9 "$f" | head -c 6000 | tr '{,' '\n\n' | grep -a '^"[a-z_0-9.-]*":"' && sha256sum <"$f"; } >"$out.txt" || true ;;
    *.html) grep -v "<path\|<use\|<g \|</g>\|[0-9]\xe2\x80\xaf[0-9]" "$f" | masked >"$out" ;;
    *.md | *.tex | *.txt | *.log) masked "$f" >"$out" ;;
    *) cp "$f" "$out" ;;
    esac
done
for f in "$dir"/*.err; do sed 's/\r/\n/g' "$f" | masked >"$work/t" && mv "$work/t" "$f"; done
for f in "$dir"/*.out; do awk "$csv" "$f" | masked >"$work/t" && mv "$work/t" "$f"; done
