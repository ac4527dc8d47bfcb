#!/bin/sh
# fuzz.sh BUILD SECONDS TEST_FUZZ NAME...: runs libFuzzer on each harness for so many seconds, from the seeds,
# earlier findings, and the inputs kept in BUILD/kept by earlier runs. FUZZ_SEED=N fixes the random numbers;
# libFuzzer's choices depend on time too, so inputs differ from run to run. Every input is limited in time
# (5 s) and memory (512 MiB at a time, 2 GiB in all). New findings are kept in BUILD/findings: mend the
# reader, then move the input to tests/fuzz/found/NAME/. First it has to find a planted bug.
build=$1 seconds=$2 program=$3
shift 3
export OMP_WAIT_POLICY=passive OMP_NUM_THREADS=1
export FUZZ_WORST=$build/worst
mkdir -p "$build/findings" "$FUZZ_WORST"
rm -rf "$build/seeds" "$build/planted.corpus"
"$program" --seeds "$build/seeds" || exit 1

limits="-timeout=5 -rss_limit_mb=2048 -malloc_limit_mb=512 -max_len=16384 -seed=${FUZZ_SEED:-0} -print_final_stats=1"

# ---- control
mkdir -p "$build/planted.corpus"
start=$(date +%s)
if "$build/planted" -max_total_time=60 -seed=1 -artifact_prefix="$build/planted.corpus/" "$build/planted.corpus" \
    >"$build/planted.log" 2>&1; then
    echo "fuzz: the planted bug was not found in 60 s" >&2
    exit 1
fi
grep -q 'heap-buffer-overflow' "$build/planted.log" || {
    echo "fuzz: the control ended otherwise than by the planted bug: $build/planted.log" >&2
    exit 1
}
echo "control: the planted bug was found in $(($(date +%s) - start)) s"

# ---- readers
failed=0
for name in "$@"; do
    mkdir -p "$build/kept/$name"
    folders=$build/kept/$name
    for d in tests/fuzz/seeds tests/fuzz/found "$build/seeds"; do
        [ -d "$d/$name" ] && folders="$folders $d/$name"
    done
    for worst in "$FUZZ_WORST/$name"-*; do # tried first, and kept
        [ -f "$worst" ] && cp "$worst" "$build/kept/$name/"
    done
    dictionary=
    [ -f "tests/fuzz/$name.dict" ] && dictionary=-dict=tests/fuzz/$name.dict
    result=ok
    # shellcheck disable=SC2086
    "$build/$name" $limits $dictionary -max_total_time="$seconds" -artifact_prefix="$build/findings/$name-" \
        $folders >"$build/$name.log" 2>&1 || result=FOUND failed=1
    stat() { sed -n "s/^stat::$1: *//p" "$build/$name.log"; }
    runs=$(stat number_of_executed_units) speed=$(stat average_exec_per_sec) slowest=$(stat slowest_ms)
    edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$build/$name.log" | tail -1)
    printf '%-12s %9s inputs %6s/s %6s edges %6d kept %5s ms %4s MiB  %s\n' "$name" "${runs:-?}" "${speed:-?}" \
        "${edges:-?}" "$(ls "$build/kept/$name" | wc -l)" "${slowest:-?}" "$(stat largest_MiB)" "$result"
    [ $result = ok ] || grep -m 3 'ERROR\|not so\|SUMMARY\|runtime error' "$build/$name.log" | sed 's/^/    /'
done
exit $failed
