#!/bin/sh
# run.sh BUILD PROGRAM...: runs test programs (cmocka, TAP output), shows failed and skipped tests, and closes with
# "N passed, N failed, N skipped". TOGETHER programs run at a time (default 4, as some wait). A program that dies counts as one
# failure, and so does one that leaves no result. One that runs for more than LIMIT seconds (default 1,800) is ended with
# what it began, and its last test that ended is told.
build=$1 limit=${LIMIT:-1800}
shift
# Makes waiting threads sleep: on a busy machine spinning threads take the cores from those that work.
export OMP_WAIT_POLICY=passive

# Runs one program: run.sh BUILD --one RESULTS PROGRAM ORDER. It writes "passed failed skipped" to a file of RESULTS.
if [ "$1" = --one ]; then
    results=$2 program=$3 order=$4
    name=$(basename "$program")
    [ "$order" = - ] || name=$name-$order
    log=$build/tests/$name.log
    start=$(date +%s)
    # Factors of tf32 are cut; in one of the orders they are rounded.
    if [ "$order" = 1 ]; then export TROTTER_CUDA_TF32=1; else unset TROTTER_CUDA_TF32; fi
    # What runs in the background can be stopped from the keyboard; there it would not see that signal, but for env.
    CMOCKA_MESSAGE_OUTPUT=TAP TROTTER=$build/trotter TROTTER_CUDA_ORDER=$order env --default-signal=INT,QUIT \
        timeout -k 10 "$limit" "$program" >"$log" 2>&1 &
    trap 'kill $!; exit 130' INT TERM
    wait $!
    status=$?
    p=$(grep -c '^ok [0-9]* - ' "$log")
    f=$(grep '^not ok ' "$log" | grep -vc '# SKIP')
    s=$(grep -c '^ok [0-9]* # SKIP\|^not ok [0-9]* # SKIP' "$log")
    if [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then
        f=1
        last="after $(grep '^ok \|^not ok ' "$log" | tail -n 1)"
        case $status in
        124) status="124: it was stopped after $limit s, $last" ;;
        137) status="137: it was killed (it ran on for 10 s when $limit s were over, or memory was short), $last" ;;
        esac
        echo "not ok: $name ended with status $status" >>"$log"
    fi
    {
        printf '%-28s %4d passed %3d failed %3d skipped  %3d s\n' "$name" "$p" "$f" "$s" $(($(date +%s) - start))
        grep '# SKIP\|^# skipped' "$log" | sed 's/^/    /'
        [ "$f" -gt 0 ] && tail -n 40 "$log" | sed 's/^/    /'
    } >"$results/$name.text"
    cat "$results/$name.text"
    echo "$p $f $s" >"$results/$name.counts"
    exit 0
fi

twice=$(for program in "$@"; do basename "$program"; done | sort | uniq -d)
[ -z "$twice" ] || { echo "not ok: two programs are called" $twice; exit 1; }
results=$(mktemp -d) || exit 2
trap 'rm -rf "$results"' EXIT
trap 'exit 130' INT TERM
# Programs of the device's stand-in run with the threads of a block in a shuffled order, which shows each missing barrier
# of kernels/cuda that reverse order shows; products run in reverse order too.
for program in "$@"; do
    case $(basename "$program") in
    cuda_test_backend) orders='1 7' ;;
    cuda_*) orders=7 ;;
    *) orders=- ;;
    esac
    for order in $orders; do echo "$program $order"; done
done >"$results/list"
# The shell in between outlives a killed one, at which xargs would stop.
xargs -n 2 -P "${TOGETHER:-4}" sh -c 'sh "$@"; exit 0' - "$0" "$build" --one "$results" <"$results/list"
cat "$results"/*.counts 2>/dev/null | awk -v programs="$(wc -l <"$results/list")" '
    { passed += $1; failed += $2; skipped += $3 }
    END {
        if (NR < programs) print "not ok: " programs - NR " programs left no result"
        failed += programs - NR
        printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
        exit !(failed == 0 && passed > 0)
    }'
