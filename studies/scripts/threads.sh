#!/bin/sh
# threads.sh: measures how threads should wait: trains the same 60 small steps with Trotter's own choice (`default`), with
# OMP_WAIT_POLICY=passive (sleep at once) and =active (spin), on a machine that is idle and on one whose processors are
# taken by other programs. Prints a row a run as CSV; the summary of ratios goes to stderr.
#
#   sh studies/scripts/threads.sh [ROUNDS] >threads.csv
#
# Policies take turns in every round, so that a ratio compares runs next to each other.
set -eu
rounds=${1:-7}
program=${TROTTER:-build/trotter}
work=$(mktemp -d)
busy=
stop() { [ -z "$busy" ] || kill $busy 2>/dev/null || true; busy=; }
trap 'stop; rm -rf "$work"' EXIT
unset OMP_WAIT_POLICY GOMP_SPINCOUNT OMP_NUM_THREADS

run() {
    rm -rf "$work/run"
    "$program" train --corpus markov:1000 --untested --eval-tokens 1000 --width 16 --inner 32 --heads 2 --sequence 16 \
        --batch-tokens 256 --max-steps 60 --out "$work/run" >"$work/words" 2>&1 || { cat "$work/words" >&2; exit 1; }
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "tokens_per_s") c = i } NR == 2 { print $c }' "$work/run/result.csv"
}

echo busy,round,policy,tokens_per_s | tee "$work/all.csv"
for others in 0 1 2 3 4; do
    round=1
    while [ "$round" -le "$rounds" ]; do
        i=0
        while [ "$i" -lt "$others" ]; do
            (while :; do :; done) &
            busy="$busy $!" i=$((i + 1))
        done
        for policy in default passive active; do
            case $policy in
            default) speed=$(run) ;;
            *) speed=$(OMP_WAIT_POLICY=$policy run) ;;
            esac
            echo "$others,$round,$policy,$speed" | tee -a "$work/all.csv"
        done
        stop
        round=$((round + 1))
    done
done

# Prints a policy's time over that of `passive` in the same round: median, least and most.
for others in 0 1 2 3 4; do
    for policy in default active; do
        awk -F, -v k="$others" -v p="$policy" '
            $1 == k && $3 == "passive" { passive[$2] = $4 }
            $1 == k && $3 == p { own[$2] = $4 }
            END { for (r in own) print passive[r] / own[r] }' "$work/all.csv" | sort -g |
            awk -v k="$others" -v p="$policy" '{ x[NR] = $1 }
                END { printf "%d busy processes, %s / passive: median %.2f [%.2f, %.2f]\n", k, p, x[int((NR + 1) / 2)], x[1], x[NR] }' >&2
    done
done
