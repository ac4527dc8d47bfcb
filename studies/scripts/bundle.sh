#!/bin/sh
# bundle.sh: packs all that gpu.sh needs on a machine with a GPU and no compiler: the program and the tests of the device,
# stripped, their libraries, the scripts. `make bundle` calls it and builds first.
#
#   sh studies/scripts/bundle.sh FILE.tar.xz PROGRAM... [--add FILE]...
#
# There: tar xf FILE.tar.xz; sh trotter-gpu/studies/scripts/gpu.sh first. The C and C++ libraries of the system are not packed;
# CUDA's are found where the toolkit or Python's packages put them.
set -eu
cd "$(dirname "$0")/../.."
file=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/trotter-gpu
mkdir -p "$root/lib"
git rev-parse HEAD >"$root/COMMIT" 2>/dev/null || echo unknown >"$root/COMMIT"
[ -z "$(git status --porcelain 2>/dev/null)" ] || echo "with changes" >>"$root/COMMIT"
while [ $# -gt 0 ]; do
    case $1 in
    --add)
        cp "$2" "$root/"
        shift 2 ;;
    *)
        mkdir -p "$root/$(dirname "$1")"
        strip -o "$root/$1" "$1"
        ldd "$1" >"$work/ldd"
        awk '$2 == "=>" && $3 ~ "^/" { print $1, $3 }' "$work/ldd" >>"$work/libraries"
        shift ;;
    esac
done
sort -u "$work/libraries" | while read -r name path; do
    case $name in
    libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.* | libstdc++.so.* | libgcc_s.so.* | ld-linux*) ;;
    *) strip -o "$root/lib/$name" "$(readlink -f "$path")" 2>/dev/null || cp -L "$path" "$root/lib/$name" ;;
    esac
done
mkdir -p "$root/studies/scripts" "$root/studies/bench/peer" "$root/tests/scripts"
cp studies/bench/peer/torch_*.py "$root/studies/bench/peer/"
cp studies/scripts/gpu.sh studies/scripts/tables.sh studies/scripts/planned.sh studies/scripts/shared.sh "$root/studies/scripts/"
mkdir -p "$root/studies/results"
cp -R studies/results/planned "$root/studies/results/"
ln -s release/trotter "$root/build/trotter"
cp tests/scripts/run.sh "$root/tests/scripts/"
tar -C "$work" -cf - trotter-gpu | xz -T0 -6 >"$file.new"
mv "$file.new" "$file"
ls -l "$file" | awk '{ printf "%s: %.1f MiB\n", $NF, $5 / 1048576 }'
