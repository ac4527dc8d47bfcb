#!/bin/sh
# library.sh BUILD THREAD_BUILD CC LIBS: the library in other people's processes: two threads in each function of trotter.h under
# ThreadSanitizer, 10^6 calls of the cheap ones without growth, and its binary interface as abidiff (abigail-tools)
# compares it with studies/api/library/trotter.abi. Each check first has to object to what is wrong.
# UPDATE=1 records the interface anew, at a release.
build=$1 thread=$2 cc=$3 libs=$4 program=tests/library/library_process.c here=studies/api/library
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
say() { echo "check-library: $*"; }
wrong() { say "$*" >&2; failed=1; }
export OMP_WAIT_POLICY=passive

"$build/trotter" train --corpus kjv --vocabulary 200 --eval-tokens 300 --untested --scheme macaron --layers 2 --activation gelu \
    --width 8 --inner 16 --heads 2 --sequence 16 --batch-tokens 64 --max-steps 5 --out "$dir/model" >"$dir/log" 2>&1
[ -f "$dir/model/model.safetensors" ] || { cat "$dir/log" >&2; exit 1; }

# ---- threads. OpenMP's own synchronisation is not seen by the sanitizer, so that each thread computes alone.
races() {
    # shellcheck disable=SC2086
    $cc -std=c99 -D_GNU_SOURCE -O1 -g -fsanitize=thread "$@" -I$here -I. -o "$dir/threads" $program "$thread/libstudies.a" \
        "$thread/libtrotter.a" $libs -fopenmp -lpthread || return 2
    OMP_NUM_THREADS=1 TSAN_OPTIONS=exitcode=66 "$dir/threads" "$dir/model" 5 >"$dir/log" 2>&1
}
races -DPLANTED
[ $? = 66 ] || wrong "the planted race was not found"
if races; then say "two threads in each function: no race"; else wrong "threads: $(grep -m 9 . "$dir/log")"; fi

# ---- growth
# shellcheck disable=SC2086
$cc -std=c99 -D_GNU_SOURCE -O1 -g -I$here -I. -o "$dir/often" $program -L"$build" -ltrotter -lgsl -lm -lpthread || exit 1
if GLIBC_TUNABLES=glibc.malloc.tcache_count=0 LD_LIBRARY_PATH=$build "$dir/often" "$dir/model" "${CALLS:-1000000}"; then say "nothing grows"; else wrong "it grows, or fails"; fi

# ---- the binary interface
if ! command -v abidiff >/dev/null; then
    say "SKIPPED the binary interface: no abidiff (apt-get install abigail-tools)"
    exit $failed
fi
mkdir "$dir/public" # other headers of that folder are the library's own
cp $here/trotter.h "$dir/public"
record() {
    abidw --headers-dir "$dir/public" --drop-private-types --exported-interfaces-only --no-corpus-path --no-comp-dir-path --no-show-locs \
        --no-elf-needed --no-parameter-names --type-id-style hash "$1"
}
differs() { ! abidiff --no-added-syms "$1" "$dir/now.abi" >"$dir/log"; }
record "$build/libtrotter.so" >"$dir/now.abi" || exit 1
[ -z "$UPDATE" ] || cp "$dir/now.abi" $here/trotter.abi
sed 's/trotter_run_at/trotter_run_by/g' $here/trotter.abi >"$dir/gone.abi"
sed "s/name='at_least' type-id='[a-z0-9]*'/name='at_least' type-id='$(sed -n "s/.*type-decl name='double'.* id='\([a-z0-9]*\)'.*/\1/p" $here/trotter.abi)'/" \
    $here/trotter.abi >"$dir/other.abi"
for control in gone other; do
    differs "$dir/$control.abi" || wrong "a changed interface ($control) was not seen"
done
if differs $here/trotter.abi; then wrong "the interface changed: $(cat "$dir/log")"; else say "the interface is that of trotter.abi"; fi
exit $failed
