#!/bin/sh
# afl.sh BUILD SECONDS TEST_FUZZ NAME...: runs AFL++ on each harness for so many seconds, from the seeds and
# from earlier findings; it continues earlier runs. Inputs that crash or take 5 s stay in
# BUILD/out/NAME/default/crashes and hangs: mend the reader, then move the input to tests/fuzz/found/NAME/.
# First it has to find a planted bug.
build=$1 seconds=$2 program=$3
shift 3
export OMP_WAIT_POLICY=passive OMP_NUM_THREADS=1
export AFL_NO_UI=1 AFL_SKIP_CPUFREQ=1 AFL_NO_AFFINITY=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_AUTORESUME=1
rm -rf "$build/seeds" "$build/in" "$build/out/planted"
mkdir -p "$build/in/planted" "$build/out"
"$program" --seeds "$build/seeds" || exit 1
printf 'SEED12345678' >"$build/in/planted/one"

# fuzz NAME SECONDS OPTION...: runs afl-fuzz from BUILD/in/NAME to BUILD/out/NAME
fuzz() {
    name=$1 time=$2
    shift 2
    afl-fuzz -V "$time" -t 5000 -m none "$@" -i "$build/in/$name" -o "$build/out/$name" -- "$build/$name" \
        >"$build/$name.log" 2>&1
}

stat() { sed -n "s/^$2 *: *//p" "$build/out/$1/default/fuzzer_stats" 2>/dev/null; }

# ---- control
AFL_BENCH_UNTIL_CRASH=1 fuzz planted 60
[ "$(stat planted saved_crashes)" -gt 0 ] 2>/dev/null || {
    echo "afl: the planted bug was not found in 60 s: $build/planted.log" >&2
    exit 1
}
echo "control: the planted bug was found in $(stat planted run_time) s"

# ---- readers
failed=0
for name in "$@"; do
    mkdir -p "$build/in/$name"
    for d in tests/fuzz/seeds tests/fuzz/found "$build/seeds"; do
        for f in "$d/$name"/*; do
            [ -f "$f" ] && cp "$f" "$build/in/$name/"
        done
    done
    dictionary=
    [ -f "tests/fuzz/$name.dict" ] && dictionary="-x tests/fuzz/$name.dict"
    # shellcheck disable=SC2086
    fuzz "$name" "$seconds" $dictionary
    crashes=$(stat "$name" saved_crashes) hangs=$(stat "$name" saved_hangs) result=ok
    [ "${crashes:-1}" = 0 ] && [ "${hangs:-1}" = 0 ] || result=FOUND failed=1
    printf '%-12s %9s inputs %6s edges %6s kept  %s crashes, %s hangs  %s\n' "$name" "$(stat "$name" execs_done)" \
        "$(stat "$name" edges_found)" "$(stat "$name" corpus_count)" "${crashes:-?}" "${hangs:-?}" $result
    [ -n "$crashes" ] || tail -n 5 "$build/$name.log" | sed 's/^/    /'
done
exit $failed
