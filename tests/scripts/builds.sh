#!/bin/sh
# builds.sh [JOBS]: what is committed, built twice in folders with names of different lengths, is the same bytes (program and
# library). gcc and clang build it with -O0 and -O3 without a warning, and the program that comes out finds an order and
# trains. CUDA is left out.
jobs=${1:-2}
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) || exit 2
export SOURCE_DATE_EPOCH
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM

# build NAME VARIABLE=VALUE...
build() {
    at=$folder/$1
    shift
    mkdir -p "$at" && git archive HEAD | tar -x -C "$at" &&
        make -s -C "$at" -j"$jobs" NO_DEPS=1 NO_CUDA=1 "$@" build/release/trotter build/release/libtrotter.so.0 \
            >"$at.log" 2>&1 || { echo "builds: $* failed:"; tail -5 "$at.log"; exit 1; }
}

build a && build longer-name || exit 1
for file in trotter libtrotter.so.0; do
    cmp "$folder/a/build/release/$file" "$folder/longer-name/build/release/$file" || exit 1
done
echo "builds: two builds are the same bytes: $(sha256sum <"$folder/a/build/release/trotter" | cut -c1-16)"

for compiler in gcc clang; do
    if ! echo '#include <omp.h>' | $compiler -fopenmp -E - >/dev/null 2>&1; then
        echo "builds: SKIPPED $compiler: it is not here, or has no omp.h (apt-get install clang libomp-dev)"
        continue
    fi
    for level in -O0 -O3; do
        build "$compiler$level" CC=$compiler CFLAGS="$level -Werror"
        (cd "$folder/$compiler$level" && build/release/trotter verify --own "rk4 order 4" >/dev/null &&
            build/release/trotter train --corpus nn/kjv/kjv.train.txt --parts 2,1,97 --width 8 --inner 16 --heads 2 \
                --vocabulary 300 --epochs 1 --out run >log 2>&1; [ -f run/result.csv ]) ||
            { echo "builds: the program of $compiler $level does not work"; exit 1; }
        echo "builds: $compiler $level: no warning; the program verifies and trains"
        rm -rf "${folder:?}/$compiler$level"
    done
done
