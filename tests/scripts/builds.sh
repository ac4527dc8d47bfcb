#!/bin/sh
# builds.sh [JOBS]: what is committed, built twice in folders with names of different lengths, is the same bytes (program and
# library). gcc builds it with -O0 and -O3 without a warning, and the program that comes out finds an order and trains.
# So does clang (14 and later), where it is. CUDA is left out.
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

# works NAME WORDS: the program of a build finds an order and trains.
works() {
    (cd "$folder/$1" && build/release/trotter verify --own "rk4 order 4" >/dev/null &&
        build/release/trotter train --corpus nn/kjv/kjv.train.txt --parts 2,1,97 --width 8 --inner 16 --heads 2 \
            --vocabulary 300 --epochs 1 --out run >log 2>&1; [ -f run/result.csv ]) ||
        { echo "builds: the program of $2 does not work"; exit 1; }
    echo "builds: $2: no warning; the program verifies and trains"
    rm -rf "${folder:?}/$1"
}

for level in -O0 -O3; do
    build "gcc$level" CC=gcc CFLAGS="$level -Werror"
    works "gcc$level" "gcc $level"
done
if echo '#include <omp.h>' | clang -fopenmp -E - >/dev/null 2>&1; then
    build clang CC=clang CFLAGS="-O2 -Werror"
    works clang clang
else
    echo "builds: SKIPPED clang: it is not here, or has no omp.h (apt-get install clang libomp-dev)"
fi
