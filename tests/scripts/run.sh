#!/bin/sh
# run.sh BUILD PROGRAM...: runs test programs (cmocka, TAP output), shows failed and skipped tests,
# and closes with "N passed, N failed, N skipped". A program that dies counts as one failure.
build=$1
# Makes waiting threads sleep: on a busy machine spinning threads take the cores from those that work.
export OMP_WAIT_POLICY=passive
shift
passed=0 failed=0 skipped=0
# Programs of the device's stand-in run kernels once for each order of the threads of a block, models in one order.
for program in "$@"; do
    base=$(basename "$program") orders=-
    case $base in
    cuda_test_kernels | cuda_test_attention_kernels | cuda_test_backend) orders='0 1 7' ;;
    cuda_*) orders=7 ;;
    esac
    for order in $orders; do
        name=$base
        [ "$order" = - ] || name=$base-$order
        log=$build/tests/$name.log
        start=$(date +%s)
        # Factors of tf32 are cut; in one of the orders they are rounded.
        if [ "$order" = 1 ]; then export TROTTER_CUDA_TF32=1; else unset TROTTER_CUDA_TF32; fi
        CMOCKA_MESSAGE_OUTPUT=TAP TROTTER=$build/trotter TROTTER_CUDA_ORDER=$order "$program" >"$log" 2>&1
        status=$?
        p=$(grep -c '^ok [0-9]* - ' "$log")
        f=$(grep '^not ok ' "$log" | grep -vc '# SKIP')
        s=$(grep -c '^ok [0-9]* # SKIP\|^not ok [0-9]* # SKIP' "$log")
        if [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then
            f=1
            echo "not ok: $name ended with status $status" >>"$log"
        fi
        passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
        printf '%-28s %4d passed %3d failed %3d skipped  %3d s\n' "$name" "$p" "$f" "$s" $(($(date +%s) - start))
        grep '# SKIP\|^# skipped' "$log" | sed 's/^/    /'
        [ "$f" -gt 0 ] && tail -n 40 "$log" | sed 's/^/    /'
    done
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
