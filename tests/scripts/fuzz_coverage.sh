#!/bin/sh
# fuzz_coverage.sh BUILD KEPT "FILE..." NAME...: runs each harness of a build with clang's coverage over the inputs that fuzz.sh kept
# in KEPT, and prints the lines and branches of each FILE that they take, all harnesses together.
build=$1 kept=$2 files=$3
shift 3
tool() { command -v "$1" || ls /usr/bin/"$1"-* | tail -1; }
export OMP_WAIT_POLICY=passive OMP_NUM_THREADS=1
objects=
for name in "$@"; do
    folders=
    for d in "$kept/kept" tests/fuzz/seeds tests/fuzz/found "$kept/seeds"; do [ -d "$d/$name" ] && folders="$folders $d/$name"; done
    # shellcheck disable=SC2086
    LLVM_PROFILE_FILE=$build/$name.profraw "$build/$name" -runs=0 $folders >"$build/$name.log" 2>&1 || tail -n 3 "$build/$name.log"
    objects="$objects ${objects:+-object} $build/$name"
done
"$(tool llvm-profdata)" merge -o "$build/all.profdata" "$build"/*.profraw || exit 1
# shellcheck disable=SC2086
"$(tool llvm-cov)" export -summary-only $objects -instr-profile "$build/all.profdata" $files | python3 -c '
import json, sys
for f in json.load(sys.stdin)["data"][0]["files"]:
    lines, branches = f["summary"]["lines"], f["summary"]["branches"]
    name = "/".join(f["filename"].split("/")[-3:])
    print("%-34s %5d lines %4.0f %%   %5d branches %4.0f %%" % (name, lines["count"], lines["percent"], branches["count"], branches["percent"]))'
