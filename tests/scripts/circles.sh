#!/bin/sh
# circles.sh DIR: checks that the files of a room, and of a folder of studies/, call one another in one direction, so that it
# can be read from the bottom up, and that the folders of ode/ and nn/ call downward alone. It reads the objects that a build left in DIR (build/release). First it has to object to
# two objects that call each other.
cd "$(dirname "$0")/../.." || exit 1
dir=${1:-build/release}
failed=0
bad=$(mktemp -d)
trap 'rm -rf "$bad"' EXIT

say() { echo "circles: $*" >&2; failed=1; }

# Prints the files of a circle among these objects: tsort names them where no order has callers before the called.
circle() {
    nm -A "$@" | awk '
        { split($1, at, ":"); file = at[1]; type = $(NF - 1) }
        type ~ /^[TDRBV]$/ { home[$NF] = file }
        type == "U" { use[file " " $NF] = 1 }
        END { for (u in use) { split(u, k, " "); if (k[2] in home) print k[1], home[k[2]] } }' | tsort 2>&1 | grep '^tsort:'
}

# ---- negative control
printf 'int b(void);\nint a(void) { return b(); }\n' >"$bad/a.c"
printf 'int a(void);\nint b(void) { return a(); }\n' >"$bad/b.c"
printf 'int a(void);\nint c(void) { return a(); }\n' >"$bad/c.c"
for f in a b c; do ${CC:-gcc} -c -o "$bad/$f.o" "$bad/$f.c" || exit 1; done
[ -n "$(circle "$bad/a.o" "$bad/b.o")" ] || say "two files that call each other are not seen"
[ -z "$(circle "$bad/a.o" "$bad/c.o")" ] || say "a file that calls another is taken for a circle"

# Prints the calls from an object of a lower floor, $1, to a higher one, $2 (lists of objects).
upward() {
    # shellcheck disable=SC2086
    nm -A $1 $2 | awk -v low=" $1 " '
        { split($1, at, ":"); file = at[1]; type = $(NF - 1) }
        type ~ /^[TDRBV]$/ { home[$NF] = file }
        type == "U" { use[file " " $NF] = 1 }
        END { for (u in use) { split(u, k, " ")
              if (index(low, " " k[1] " ") && (k[2] in home) && !index(low, " " home[k[2]] " ")) print k[1], k[2] } }'
}
[ -n "$(upward "$bad/a.o" "$bad/b.o")" ] || say "a call to a higher floor is not seen"
[ -z "$(upward "$bad/a.o" "")" ] || say "a file alone calls upward"

# ---- floors: the rooms' folders, lowest first
objects() { for f in "$1"/*.c; do echo "$dir/${f%c}o"; done | tr '\n' ' '; }
for floors in 'kernels/base kernels' 'ode/scheme ode/theory ode/field ode/systems ode/step ode/measure' 'nn/text nn/model nn/run nn/decode'; do
    low=
    for floor in $floors; do
        low="$low${low:+ }$(objects "$floor" | sed 's/ $//')" high=
        for above in $(echo "$floors" | sed "s|.*$floor||"); do high="$high $(objects "$above")"; done
        for o in $low $high; do
            [ -f "$o" ] || { echo "circles: SKIPPED, $o is not built"; exit $failed; }
        done
        found=$(upward "$low" "$high")
        [ -z "$found" ] || say "calls from $floor/ or below to a floor above it:
$found"
    done
done

# ---- the whole house
set --
for f in $(git ls-files 'kernels/*.c' 'ode/*.c' 'nn/*.c' 'bridge/*.c' 'studies/*.c' | grep -vE '^kernels/cpu/|^studies/main.c|/example/|/peer/'); do set -- "$@" "$dir/${f%c}o"; done
found=$(circle "$@")
[ -z "$found" ] || say "files that call one another in a circle:
$found"

# ---- the rooms: all files of kernels, ode, nn and bridge, and of each folder of studies/ that has some
folders=$(git ls-files 'studies/*.c' | sed 's|/[^/]*$||' | sort -u | grep -vE '^studies$|/example$|/peer$')
[ "$(echo "$folders" | wc -l)" -gt 15 ] || say "git lists no folders of studies/"
for room in kernels ode nn bridge $folders; do
    set --
    case $room in studies/*) files=$(ls "$room"/*.c) ;; *) files=$(git ls-files "$room/*.c" | grep -v '^kernels/cpu/') ;; esac
    for f in $files; do set -- "$@" "$dir/${f%c}o"; done
    for o in "$@"; do
        [ -f "$o" ] || { echo "circles: SKIPPED, $o is not built"; exit $failed; }
    done
    found=$(circle "$@")
    [ -z "$found" ] || say "files of $room/ that call one another in a circle:
$found"
done

[ $failed = 0 ] && echo "circles: none in kernels/, ode/, nn/, bridge/ and the folders of studies/"
exit $failed
