#!/bin/sh
# soak.sh PROGRAM SECONDS BOUND: measures the resident memory of a training that goes on for so many seconds (RSS
# from /proc, each second, with the last step of log.csv beside it), and of a training of short epochs that saves
# all the time. Prints the slope by least squares with its 95 % interval (Student's t; 1.96, as there are many
# samples) in bytes a step; 1 where it is above BOUND bytes a step even at the interval's lower end. The first
# third is left out, as it touches buffers for the first time. A leak that grows faster than BOUND is seen.
program=$1 seconds=$2 bound=$3
folder=$(mktemp -d)
child=
trap 'kill "$child" 2>/dev/null; rm -rf "$folder"' EXIT
export OMP_WAIT_POLICY=passive

# slope FILE: fits the lines "step bytes"
slope() {
    awk -v bound="$bound" '
        { x[NR] = $1; y[NR] = $2 }
        END {
            first = int(NR / 3) + 1
            for (i = first; i <= NR; i++) { n++; sx += x[i]; sy += y[i] }
            if (n < 10) { print "too few samples: " n; exit 2 }
            mx = sx / n; my = sy / n
            for (i = first; i <= NR; i++) { xx += (x[i] - mx)^2; xy += (x[i] - mx) * (y[i] - my) }
            if (xx == 0) { print "no step was made"; exit 2 }
            b = xy / xx
            for (i = first; i <= NR; i++) rest += (y[i] - my - b * (x[i] - mx))^2
            half = 1.96 * sqrt(rest / (n - 2) / xx)
            printf "%.0f steps, %.1f MB: %.3g bytes a step, 95 %% interval %.3g to %.3g\n",
                x[NR] - x[first], y[NR] / 1e6, b, b - half, b + half
            exit b - half > bound
        }' "$1"
}

# watch NAME ARGUMENT...: trains for the given time and prints the slope
watch() {
    name=$1
    shift
    "$program" train "$@" --out "$folder/$name" 2>"$folder/$name.err" &
    child=$!
    end=$(($(date +%s) + seconds))
    while [ "$(date +%s)" -lt $end ] && kill -0 "$child" 2>/dev/null; do
        sleep 1
        step=$(tail -n 1 "$folder/$name/log.csv" 2>/dev/null | cut -d, -f1)
        pages=$(cut -d' ' -f2 "/proc/$child/statm" 2>/dev/null)
        case $step in [0-9]*) [ -z "$pages" ] || echo "$step $((pages * 4096))" ;; esac
    done >"$folder/$name.rss"
    kill -TERM "$child"
    wait "$child"
    status=$?
    [ $status = 130 ] || { echo "$name: ended with status $status: $(tail -n 1 "$folder/$name.err")"; return 1; }
    printf '%-8s ' "$name"
    slope "$folder/$name.rss"
}

# ---- control: memory that grows by twice the bound a step
awk -v b="$bound" 'BEGIN { for (i = 1; i < 60; i++) print 100 * i, 1e7 + 200 * b * i + (i % 7) * 1000 }' >"$folder/control"
if slope "$folder/control" >/dev/null; then
    echo "soak: the control's growth is not seen" >&2
    exit 1
fi

failed=0
for text in train valid test; do
    awk -v n=$text 'BEGIN { m = n == "train" ? 200 : 20; for (i = 0; i < m; i++) print "a b c d e f g\nb c d\na a c" }' >"$folder/$text.txt"
done
small="--scheme transformer --width 8 --inner 16 --heads 2 --sequence 16 --epochs 100000000 --rate 1e-3 --threads 1"
# shellcheck disable=SC2086
watch steps --corpus markov:16 $small --batch-tokens 256 || failed=1
# shellcheck disable=SC2086
watch saves --corpus "$folder" $small --batch-tokens 256 || failed=1
exit $failed
