#!/bin/sh
# demo.sh: `make demo`: four schemes side by side on the start of the King James text, an illustration of the program's main
# job. How rate and length of each scheme are chosen stands in studies/results/demo/plan.txt.
#
#   sh studies/scripts/demo.sh OUT           trains the seeds that are shown, each scheme at its recorded choice; OUT is as seen from
#                                            the top of the repository
#   sh studies/scripts/demo.sh OUT --grid    trains the grid anew first, three times as long, and chooses by it
#   sh studies/scripts/demo.sh --table FILE  trains nothing: rewrites the lines of FILE (README.md) between the marks
#                                            `<!-- demo: ... -->` and `<!-- demo ends -->`, and the row "that layer once
#                                            trained", from the recorded tables
#
# Needs build/trotter (or TROTTER); the last needs awk alone.
set -eu
root=$(dirname "$0")/../..
recorded=$root/studies/results/demo study=$root/studies/results/one-layer

# Prints the row of README.md on one trained layer and then its table: of the demo's compare.csv and differences.csv, and of one-layer's compare.csv the perplexities of the
# same schemes.
table() {
    awk '
        # Splits a line of CSV into the array cell; returns the number of cells.
        function cells(line,    n, c, i, quoted) {
            n = 1; cell[1] = ""; quoted = 0
            for (i = 1; i <= length(line); i++) {
                c = substr(line, i, 1)
                if (c == "\"") quoted = !quoted
                else if (c == "," && !quoted) cell[++n] = ""
                else cell[n] = cell[n] c
            }
            return n
        }
        function at(name) {
            if (!(name in column)) { print "demo.sh: " FILENAME " has no column " name >"/dev/stderr"; exit bad = 1 }
            return cell[column[name]]
        }
        function half(name) { return (at(name "_high") - at(name "_low")) / 2 }
        function less(text) { return (at("scheme"), text) in difference ? difference[at("scheme"), text] : "" }
        FNR == 1 { delete column; n = cells($0); for (i = 1; i <= n; i++) column[cell[i]] = i; file++; next }
        { cells($0) }
        file == 1 { study[at("scheme")] = sprintf("%.1f; %.1f", at("valid_ppl"), at("test_ppl")); next }
        file == 2 {
            if (at("correction") == "Dunnett" && at("less") == "transformer")
                difference[at("design"), at("measure")] = sprintf("%+.2f ± %.2f", at("difference"), (at("high") - at("low")) / 2)
            next
        }
        at("scheme") == "unigram" { words = sprintf("| frequencies of words | | | | | %.1f | | %.1f | | | |", at("valid_ppl"), at("test_ppl")); next }
        {
            row[++rows] = sprintf("| %s | %d | %d F + %d G | %g; %d | %.2f ± %.2f | %.1f | %s | %.1f | %s | %.1f | %s |", at("scheme"), at("order"),
                at("evals_F"), at("evals_G"), at("rate"), at("epochs"), at("truncation"), half("truncation"),
                at("valid_ppl"), less("validation"), at("test_ppl"), less("test"), at("best_epoch"), study[at("scheme")])
        }
        at("scheme") == "strang-marchuk:heun" {
            layer = sprintf("| that layer once trained | truncation error %.2f ± %.2f, perplexity %.1f | `compare` |", at("truncation"), half("truncation"), at("valid_ppl"))
        }
        END {
            if (bad) exit bad
            print layer
            print "| scheme | order | evaluations | rate; epochs | truncation error | validation | minus the transformer | test | minus the transformer | best epoch | the larger study: validation; test |"
            print "|---|--:|---|---|--:|--:|--:|--:|--:|--:|--:|"
            for (i = 1; i <= rows; i++) print row[i]
            print words
        }' "$study/compare.csv" "$recorded/differences.csv" "$recorded/compare.csv"
}

# Puts the table between the marks of a file, and the row where that row stands.
rewrite() {
    rows=$(table)
    [ "$(grep -c '^<!-- demo: ' "$1")" = 1 ] && [ "$(grep -c '^<!-- demo ends -->' "$1")" = 1 ] ||
        { echo "demo.sh: $1 has not the two marks, once each, between which the table stands" >&2; exit 2; }
    rows=$rows awk '
        BEGIN { layer = rows = ENVIRON["rows"]; sub(/\n.*/, "", layer); sub(/^[^\n]*\n/, "", rows) }
        /^\| that layer once trained \|/ { print layer; next }
        /^<!-- demo: / { print; print rows; inside = 1; next }
        /^<!-- demo ends -->/ { inside = 0 }
        !inside' "$1" >"$1.new"
    cat "$1.new" >"$1"
    rm "$1.new"
}

case ${1:-} in
--table)
    [ $# = 2 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
    rewrite "$2"
    exit ;;
'' | -*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
[ "$#" = 1 ] || [ "$2" = --grid ] || { echo "demo.sh: $2: no such option (see the head of the script)" >&2; exit 2; }
out=$1 # as seen from the top of the repository
cd "$root"
recorded=studies/results/demo trotter=${TROTTER:-build/trotter}
[ "${2:-}" = --grid ] || [ -e "$out/runs.csv" ] || {
    # a run with a row and without a folder counts as trained: these are the rows of the grid alone
    mkdir -p "$out"
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR == 1 || $at["part"] == "tuning"' "$recorded/runs.csv" >"$out/runs.csv"
}
"$trotter" compare --scheme transformer,looped:2,strang-marchuk:heun,rk4-layer --corpus nn/kjv/kjv.train.txt --parts 5,5,90 \
    --eval-tokens 20000 --vocabulary 1000 --activation gelu --dropout 0 --truncation 4 --layers 1 --width 64 --inner 256 --heads 4 \
    --sequence 32 --batch-tokens 512 --warmup 100 --schedule linear --threads 2 --seed 101 --seeds 5 \
    --tune --tune-rate 4e-3,8e-3,1.6e-2,3.2e-2 --tune-dropout 0 --tune-epochs 4,6,8,12 --tune-seed 100 --out "$out"
echo "An illustration, not evidence: rates and lengths were chosen by studies/results/demo/plan.txt, not by how schemes rank."
