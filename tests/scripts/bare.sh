#!/bin/sh
# bare.sh BUILD LIST [PROGRAM...]: runs test programs where the tools below are missing, and compares the
# skipped tests with the lines "PROGRAM TEST" of LIST. It says so, and ends with 1, where another test is
# skipped, a listed one is not, or a test fails. Without a PROGRAM it runs only the tests of LIST.
build=$1 list=$2
shift 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
tools='mpirun clang nvcc gnuplot python3 groff chromium pdflatex coqc'

# Links all other commands of PATH; there is no GPU either.
mkdir "$work/bin"
(
    IFS=:
    for dir in $PATH; do ln -s "$dir"/* "$work/bin" 2>/dev/null; done
)
for tool in $tools; do rm -f "$work/bin/$tool"; done
unset TROTTER_NEED_RANKS TROTTER_NEED_NUMPY # here they may be missing
export CUDA_VISIBLE_DEVICES= CMOCKA_MESSAGE_OUTPUT=TAP TROTTER="$build/trotter" OMP_WAIT_POLICY=passive

# Adds the tests that PROGRAM skips to $work/skipped and failures to $work/failed; patterns of tests may follow.
run() {
    CMOCKA_FILTER=${2:-*} PATH=$work/bin "$build"/tests/*/"$1" </dev/null >"$work/log.$1" 2>&1
    status=$?
    [ $status = 0 ] || grep -q '^not ok' "$work/log.$1" || echo "$1 ended with status $status" >>"$work/failed"
    sed -n "s/^\(not \)\{0,1\}ok [0-9]* # SKIP /$1 /p" "$work/log.$1" >>"$work/skipped"
    grep '^not ok' "$work/log.$1" | grep -v '# SKIP' | sed "s/^/$1: /" >>"$work/failed"
}

for file in skipped failed; do : >"$work/$file"; done
if [ $# -gt 0 ]; then
    for program in "$@"; do echo "$program"; done >"$work/programs"
    for program in "$@"; do grep "^$program " "$list"; done >"$work/wanted"
else
    # each program once, as its set-up may take longer than its tests
    awk '{ t[$1] = t[$1] (t[$1] ? "," : "") $2 } END { for (p in t) print p, t[p] }' "$list" >"$work/programs"
    cp "$list" "$work/wanted"
fi
# A quarter of them each, as most wait for one thread.
for quarter in 0 1 2 3; do
    awk "NR % 4 == $quarter" "$work/programs" | while read -r program tests; do run "$program" "$tests"; done &
done
wait
sort "$work/wanted" >"$work/list"
sort "$work/skipped" | diff "$work/list" - | sed -n 's/^</listed and not skipped:/p; s/^>/skipped and not listed:/p' >>"$work/failed"
cat "$work/failed"
echo "$(wc -l <"$work/skipped") tests skipped without $tools"
[ ! -s "$work/failed" ]
