#!/bin/sh
# run.sh BUILD PROGRAM...: runs test programs (cmocka, TAP output), shows what failed or was skipped,
# and closes with "N passed, N failed, N skipped". A program that dies counts as one failure.
build=$1
# Waiting threads sleep: on a busy machine spinning ones take the cores from those that work.
export OMP_WAIT_POLICY=passive
shift
passed=0 failed=0 skipped=0
for program in "$@"; do
    name=$(basename "$program")
    log=$build/tests/$name.log
    start=$(date +%s)
    CMOCKA_MESSAGE_OUTPUT=TAP TROTTER=$build/trotter "$program" >"$log" 2>&1
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
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
