#!/bin/sh
# growth.sh [table|plot|solve|design|study]...: how time and memory of commands grow as what they read is doubled four times: tables, plots, states, rules of
# pairs. It prints a table in Markdown with a row a command: the sizes, seconds of processor, megabytes, and the power of the size with
# which the seconds grow over the last two doublings. TROTTER is the program (build/trotter). The table of
# studies/results/bench/README.md is one of its outputs.
set -u
trotter=$(realpath "${TROTTER:-$(dirname "$0")/../../build/trotter}")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export OMP_NUM_THREADS=1

# runs DESIGNS SEEDS: a table of runs.   lines LINES POINTS: errors by step.
runs() { awk -v d="$1" -v s="$2" 'BEGIN { srand(1); print "model,seed,accuracy"; for (i = 0; i < d * s; i++) printf "m%d,%d,%.4f\n", i % d, i / d, 70 + rand() }'; }
lines() { awk -v l="$1" -v p="$2" 'BEGIN { print "scheme,system,h,error"; for (i = 0; i < l * p; i++) printf "s%d,x,%.6g,%.6g\n", i / p, 1 / (1 + i % p), (1 + int(i / p)) * 1e-3 / (1 + i % p) ^ 2 }'; }
swarm() { printf 'system swarm\nn 16\nd 2\nF = mean (z - y)*(1/2 - exp(-r2))\nG = -y\ninitial = cos(2*pi*i/n + c) + normal/10\nt-end 1\n'; }
attend() { printf 'system attend\nn 16\nd 4\nF = softmax dot : z\nG = -y\ninitial = normal\nt-end 1\n'; }

# row WORDS FIRST COMMAND: measures the command for FIRST, 2 FIRST, ... 16 FIRST, which stand for SIZE in it
row() {
    for k in 1 2 4 8 16; do
        size=$(($2 * k))
        command=$(echo "$3" | sed "s/SIZE/$size/g")
        /usr/bin/env time -f 'used %U %S %M' sh -c "$command" >/dev/null 2>log || { sed 's/^/growth: /' log >&2; return; }
        sed -n "s/^used/$size/p" log
    done | awk -v words="$1" '
        { n = n sep $1; s = s sep sprintf("%.2f", $2 + $3); m = m sep int($4 / 1024 + .5); t[NR] = $2 + $3; sep = ", " }
        END { power = t[5] > t[3] && t[3] > 0 ? sprintf("%.2f", log(t[5] / t[3]) / log(4)) : ""
              if (NR == 5) printf "| %s | %s | %s | %s | %s |\n", words, n, s, m, power }'
}

part() { [ -z "$asked" ] || echo " $asked " | grep -q " $1 "; }
asked="$*"
export trotter
swarm >swarm.txt
attend >attend.txt
echo '| what is doubled | sizes | seconds | MB | power |'
echo '|---|---|---|---|--:|'
if part table; then
    for n in 50 100 200 400 800; do runs $n 5 >designs$n.csv; done
    for n in 62500 125000 250000 500000 1000000; do runs 1000 $((n / 1000)) >rows$n.csv; done
    row 'designs of `table --all-pairs`, five runs each' 50 '"$trotter" table designsSIZE.csv --all-pairs'
    row 'rows of `table`, of 1,000 designs' 62500 '"$trotter" table rowsSIZE.csv --csv'
fi
if part plot; then
    for n in 25 50 100 200 400; do lines $n 10 >lines$n.csv; done
    for n in 62500 125000 250000 500000 1000000; do lines 10 $((n / 10)) >points$n.csv; done
    row 'lines of `plot --out`, ten points each' 25 '"$trotter" plot linesSIZE.csv --out p'
    row 'points of `plot`, of ten lines' 62500 '"$trotter" plot pointsSIZE.csv --csv'
fi
if part solve; then
    row 'states of `solve --times`, henon by tolerance' 6250 '"$trotter" solve --system henon --scheme dormand-prince --tolerance 1e-6 --times SIZE --csv'
    row 'particles of a rule of pairs, `rk4`, 8 steps' 128 '"$trotter" solve --system-file swarm.txt --particles SIZE --scheme rk4 --h 0.125 --csv'
    row 'particles of a softmax' 128 '"$trotter" solve --system-file attend.txt --particles SIZE --scheme rk4 --h 0.125 --csv'
    row 'particles of the built-in `attention`' 256 '"$trotter" solve --system attention --particles SIZE --scheme rk4 --h 0.125 --csv'
    row 'cells of heat by `ros2`' 128 '"$trotter" order --system heat --scheme ros2 --particles SIZE --halvings 4 --summary'
    row 'cells of heat by `etd-rk2`' 64 '"$trotter" order --system heat --scheme etd-rk2 --particles SIZE --halvings 4 --summary'
fi
# stages S: a form of S stages over H, all of whose weights are free
stages() { awk -v s="$1" 'BEGIN {
    print "scheme form"; rows = ""; first = "1"
    for (i = 2; i <= s; i++) { row = "k" i " = H(y"; for (j = 1; j < i; j++) { print "learn a" i "z" j " = 1/" (j < i - 1 ? 2 * s : 2); row = row " + a" i "z" j "*k" j }
        rows = rows row ")\n"; print "learn b" i " = 1/" s; first = first " - b" i; last = last " + b" i "*k" i }
    printf "k1 = H(y)\n%s", rows; print "y\x27 = y + (" first ")*k1" last }'; }
if part design; then
    stages 4 >form.txt
    row 'evaluations of `design`, four stages of order 4' 250 '"$trotter" design --scheme form --scheme-file form.txt --order 4 --starts 1 --evaluations SIZE --rise 0 --csv'
fi
if part study; then
    tiny='--corpus markov:20 --width 8 --heads 2 --inner 8 --sequence 8 --batch-tokens 64 --threads 1 --eval-tokens 64 --max-steps 3 --truncation 0 --system linear'
    row 'runs of a study, three steps each' 4 "\"\$trotter\" compare --scheme transformer --seeds SIZE $tiny --out studySIZE || test \$? = 1"
fi
