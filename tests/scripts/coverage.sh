#!/bin/sh
# coverage.sh BUILD "PROGRAM..." FILE...: runs those tests in a build with --coverage, then prints a table of
# the lines and branches of each FILE (without .c) that were taken; 1 where a test failed or a file has less
# than 95 % of its branches taken. A branch is one way out of a condition, as gcov counts it, also in TRY
# and where memory is short.
build=$1 tests=$2
shift 2
find "$build" -name '*.gcda' -delete
# shellcheck disable=SC2086
failed=0
sh tests/scripts/run.sh "$build" $tests || { failed=1; echo "coverage: a test failed; the table is of what ran" >&2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '\n%-18s %8s %9s %9s\n' reader lines branches taken
for f in "$@"; do
    gcov -b -c -o "$build/$(dirname "$f")" "$f.c" 2>/dev/null >"$work/out"
    rm -f ./*.gcov
    awk -v name="$f" -v own="File '$f.c'" '
        /^File / { mine = ($0 == own) }
        mine && /^Lines executed/ { sub(/.*:/, ""); lines = $1 }
        mine && /^Branches executed/ { all = $NF }
        mine && /^Taken at least once/ { sub(/.*:/, ""); taken = $1 }
        END { short = !(taken + 0 >= 95)
              printf "%-18s %8s %9s %9s%s\n", name, lines, all, taken, short ? "  below 95 %" : ""
              exit short }
    ' "$work/out" || failed=1
done
exit $failed
