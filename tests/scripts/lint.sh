#!/bin/sh
# lint.sh: checks formatting (clang-format), layering (which room includes which), that READMEs name every file of
# their folder, that no file has a machine's paths, that gnuplot scripts are made of literals alone, that the first
# README's table of findings has the sentences with which the findings begin, and that sources begin with their own name. Each check first has to object to a
# file that breaks its rule.
cd "$(dirname "$0")/../.." || exit 1
failed=0
bad=$(mktemp -d)
trap 'rm -rf "$bad"' EXIT

say() { echo "lint: $*" >&2; failed=1; }

# ---- formatting: prints the files of the list that clang-format would change
format() { clang-format --dry-run -Werror --style=file "$@" 2>&1 | grep -E '^[^ ].*(error|warning):' | cut -d: -f1 | sort | uniq -c; }

# ---- layering: which rooms a room may include from
#   room:  allowed rooms (or single files)
#   room/. stands for the files of a folder without the folders in it
rules="kernels: kernels
kernels/base: kernels/base
ode: ode
ode/scheme: ode/scheme kernels/base
ode/theory: ode/theory ode/scheme kernels/base
ode/field: ode/field ode/theory ode/scheme kernels/base
ode/systems: ode/systems ode/field ode/theory ode/scheme kernels/base
ode/step: ode/step ode/systems ode/field ode/theory ode/scheme kernels/base
ode/measure: ode/measure ode/step ode/systems ode/field ode/theory ode/scheme kernels/base
nn/text: nn/text nn/nn.h kernels
nn/model: nn/model nn/text nn/nn.h kernels
nn/foreign: nn/foreign nn/model nn/text nn/nn.h kernels
nn/run: nn/run nn/model nn/text nn/nn.h kernels
nn/decode: nn/decode nn/run nn/model nn/text nn/nn.h kernels
kernels/cpu: kernels
kernels/cuda: kernels
nn: nn kernels
bridge: bridge nn ode kernels
studies: studies/commands.h studies/base kernels
studies/base/process: studies/base/process studies/base/. kernels
studies/base: studies/base/. ode kernels
studies/base/plot: studies/base/plot studies/base/process studies/base/. kernels/base
studies/base/statistics: studies/base/statistics kernels/base
studies/model: studies/model/. studies/model/metrics studies/base bridge nn ode kernels
studies/model/metrics: studies/model/metrics studies/base nn kernels
studies/theory: studies/theory/. studies/base ode kernels
studies/solve: studies/solve studies/model/. studies/base ode kernels
studies/lab/table: studies/lab/table studies/base kernels/base
studies/lab/runs: studies/lab/runs studies/model studies/base bridge nn ode kernels
studies/lab/study: studies/lab/study studies/lab/runs studies/lab/table studies/model studies/solve studies/theory/. studies/base bridge nn ode kernels
studies/page/told: studies/page/told studies/page/report studies/theory/. studies/base ode kernels
studies/page/site: studies/page/site studies/page/told studies/theory/. studies/base kernels/base
studies/page/serve: studies/page/serve studies/page/told studies/page/report studies/solve studies/theory/. studies/base ode kernels
tests/lib: tests/lib studies bridge nn ode kernels
tests/studies: tests/studies tests/fuzz tests/lib studies bridge nn ode kernels
tests/faults: tests/faults tests/fuzz tests/lib studies bridge nn ode kernels
tests/cuda: tests/cuda tests/lib kernels"
# A folder of a command includes itself and what commands of its room share, and no other command (serve, whose page has
# that of report, does); of lab/, also what makes studies. A folder of tests likewise.
shared='studies/model/. studies/model/metrics studies/theory/. studies/solve studies/base bridge nn ode kernels'
rules_of() {
    allowed=$(echo "$rules" | sed -n "s|^$1: *||p")
    case $1 in
    studies/lab/*) [ -n "$allowed" ] || allowed="$1 studies/lab/study studies/lab/runs studies/lab/table $shared" ;;
    studies/*) [ -n "$allowed" ] || allowed="$1 $shared" ;;
    tests/*) [ -n "$allowed" ] || allowed="$1 tests/lib studies bridge nn ode kernels" ;;
    esac
    echo "$allowed"
}

# Prints the includes of $2.. that room $1 may not have, as FILE:LINE:TEXT.
layering() {
    room=$1
    shift
    grep -n '^ *# *include *"' "$@" /dev/null | awk -v rules="$(rules_of "$room")" '
        BEGIN { n = split(rules, allowed, " ") }
        {
            target = $0; sub(/.*include *"/, "", target); sub(/".*/, "", target)
            folder = target; sub(/\/[^\/]*$/, "", folder)
            for (i = ok = 0; i < n && !ok;) {
                a = allowed[++i]
                ok = a ~ /\/\.$/ ? folder "/." == a : target == a || index(target, a "/") == 1
            }
            if (!ok || target ~ /\.c$/) print
        }'
}

# ---- paths: files of the repository name no folder of one machine
paths() { grep -nE '(^|[^A-Za-z0-9_.])/(work|home|root|Users)/[A-Za-z0-9]' "$@" /dev/null; }

# ---- plots: plot.h's macros take literals alone; the functions that they call take any text
plots() { grep -nE 'plot_add_(setting|item|words)' "$@" /dev/null; }

# ---- tests: kill(-1) reaches every process; test_signal checks the number first
signals() { grep -nE '(^|[^A-Za-z0-9_])kill\(' "$@" /dev/null; }

# ---- clang: glibc gives it no CMPLX
unclear() { grep -l 'CMPLX(' "$@" /dev/null | xargs -r grep -LE 'kernels/base/cmplx\.h|define CMPLX'; }

# ---- libraries that may be missing: prints the errors of what stands in their place
without() {
    for f in $(grep -lE '^#if.*HAVE_(MICROHTTPD|MPI)' "$@" /dev/null); do
        gcc -std=c17 -D_GNU_SOURCE -I. -fsyntax-only -Werror=implicit-function-declaration "$f" 2>&1 | grep 'error:'
    done
}

# ---- names: a source begins with its own name, so that renaming a file changes its comment too
unnamed() {
    awk '
        FNR == 1 {
            name = FILENAME; sub(/.*\//, "", name)
            if ($0 !~ /^\/[*\/] / || index(substr($0, 4), name) != 1 || substr($0, 4 + length(name)) !~ /^[:, ]/) print FILENAME
            nextfile
        }' "$@"
}

# Prints the names that two of the files have; a header and the source of its name are two names.
twice() { printf '%s\n' "$@" | sed 's|.*/||' | sort | uniq -d; }

# ---- types: prints those that one of the files and a header of studies/lab or studies/base declare both: a reader would take one
# for the other
retyped() {
    awk '
        /^} [A-Z][A-Za-z]*;$/ || /^typedef struct [A-Z][A-Za-z]* [A-Z][A-Za-z]*;$/ {
            ours = FILENAME ~ /studies\/(lab\/.*|base\/[a-z_]*)\.h$/
            if ($NF in file && file[$NF] != FILENAME && (ours || own[$NF])) print $NF, file[$NF], FILENAME
            if (!own[$NF]) { file[$NF] = FILENAME; own[$NF] = ours }
        }' "$@"
}

# ---- declarations: prints members that the formatter tore, the type on one line and the name on the next, as their comment behind
# them is too long: it stands above then
torn() {
    awk '
        FNR == 1 { type = "" }
        type != "" && /^ +\*?[a-z_][A-Za-z_0-9]*; \/\*/ { print FILENAME ":" FNR - 1 ":" type }
        { type = $0 ~ /^ +(const |struct |unsigned )*[A-Za-z_][A-Za-z_0-9]*( \*+)?$/ ? $0 : "" }' "$@"
}

# ---- recorded plots: prints the SVG files of $2.. that no page of list $1 shows
unseen() {
    readmes=$1
    shift
    # shellcheck disable=SC2086
    grep -o '!\[[^]]*\]([^)]*)' /dev/null $readmes | sed 's|^\([^:]*\)/[^/:]*:.*(\(.*\))|\1/\2|; s|^[^/:]*:.*(\(.*\))|\1|' |
        xargs -r -d '\n' realpath -m >"$bad/shown"
    for f in "$@"; do realpath -m "$f"; done | grep -vxFf "$bad/shown"
}

# ---- READMEs: prints the sources of $2.. that README $1 names neither by their name nor by a pattern (`claims_*.c`)
unlisted() {
    names=$(grep -o '`[A-Za-z0-9_*]*\.[ch]`' "$1" | tr -d '`' | sed 's/\.[ch]$//')
    shift
    for f; do
        stem=$(basename "$f" | sed 's/\.[ch]$//') listed=no
        set -f
        for name in $names; do
            # shellcheck disable=SC2254
            case $stem in $name) listed=yes ;; esac
        done
        set +f
        [ $listed = yes ] || echo "$f"
    done
}

# ---- findings: page $1 has numbered lines "N. **Question** Answer *How sure:* How sure. More."; page $2 has a table with a row
# "| N | Question | Answer | How sure | where |" for each. Prints the numbers of lines without a row that has their
# beginning word for word, and of rows without a line.
untold() {
    awk '
        FNR == 1 { page++ }
        page == 1 && /^\| [0-9]+ \|/ {
            split($0, cell, / *\| */)
            begins[cell[2]] = cell[2] ". **" cell[3] "** " cell[4] " *How sure:* " cell[5]
            next
        }
        page == 2 && /^[0-9]+\. / {
            n = $0; sub(/\..*/, "", n); told[n] = 1
            if (!(n in begins) || index($0 " ", begins[n] " ") != 1) print n
        }
        END { for (n in begins) if (!(n in told)) print n }' "$2" "$1"
}

# ---- negative controls
mkdir -p "$bad/ode"
printf 'int  f( void ){return 0 ;}\n' >"$bad/format.c"
cp .clang-format "$bad/"
printf '#include "nn/nn.h"\n' >"$bad/ode/upward.c"
printf '#include "kernels/backend.h"\n' >"$bad/ode/sideways.c"
printf '# see /%s/somebody/notes\n' home >"$bad/path.sh"
printf 'plot_add_item(p, NULL, name);\n' >"$bad/plot.c"
printf 'kill(child, SIGKILL);\n' >"$bad/signal.c"
printf 'double complex i = CMPLX(0, 1);\n#ifndef HAVE_MPI\nint f(void) { return g(); }\n#endif\n' >"$bad/without.c"
[ -n "$(unclear "$bad/without.c")" ] || say "the check of complex numbers does not see CMPLX"
[ -n "$(without "$bad/without.c")" ] || say "a source that compiles with a library alone is not seen"
[ -n "$(signals "$bad/signal.c")" ] || say "the check of signals does not see a call of kill"
[ -n "$(format "$bad/format.c")" ] || say "the formatting check does not see a badly formatted file"
[ -n "$(layering ode "$bad/ode/upward.c")" ] || say "the layering check does not see ode/ include nn/"
printf '#include "ode/step/steps.h"\n' >"$bad/ode/floor.c"
[ -n "$(layering ode/theory "$bad/ode/floor.c")" ] || say "the layering check does not see theory/ include step/"
[ -z "$(layering ode/measure "$bad/ode/floor.c")" ] || say "the layering check refuses measure/ the floor below it"
[ -n "$(layering ode "$bad/ode/sideways.c")" ] || say "the layering check does not see ode/ include kernels/backend.h"
mkdir -p "$bad/studies"
printf '#include "studies/lab/sweep/sweep.h"\n' >"$bad/studies/sibling.c"
printf '#include "studies/lab/runs/runs.h"\n' >"$bad/studies/roof.c"
printf '#include "studies/base/frame.c"\n' >"$bad/studies/body.c"
[ -n "$(layering studies/lab/compare "$bad/studies/sibling.c")" ] || say "the layering check does not see a command include another"
[ -n "$(layering studies/base "$bad/studies/roof.c")" ] || say "the layering check does not see base/ include lab/"
printf '#include "studies/base/plot/plot.h"\n' >"$bad/studies/inner.c"
printf '#include "studies/base/option.h"\n' >"$bad/studies/outer.c"
printf '#include "ode/systems/systems.h"\n' >"$bad/ode/registry.c"
[ -n "$(layering studies/base "$bad/studies/inner.c")" ] || say "the layering check does not see base/ include a folder in it"
[ -z "$(layering studies/base/plot "$bad/studies/outer.c")" ] || say "the layering check refuses base/plot/ the files of base/"
[ -n "$(layering ode/field "$bad/ode/registry.c")" ] || say "the layering check does not see field/ include systems/"
[ -n "$(layering studies/model "$bad/studies/body.c")" ] || say "the layering check does not see a .c file included"
[ -z "$(layering studies/lab/sweep "$bad/studies/sibling.c")" ] || say "the layering check refuses a command its own folder"
[ -n "$(layering kernels "$bad/ode/upward.c")" ] || say "the layering check does not see kernels/ include nn/"
[ -n "$(paths "$bad/path.sh")" ] || say "the path check does not see a path"
[ -n "$(plots "$bad/plot.c")" ] || say "the check of plots does not see a text that is not a literal"

printf '/* other.c: what was once in other.c */\n' >"$bad/name.c"
printf '/* own.h: begins as it should. */\n' >"$bad/own.h"
[ "$(unnamed "$bad/name.c" "$bad/own.h")" = "$bad/name.c" ] ||
    say "the check of names does not tell a source that begins with another name from one that begins with its own"

[ "$(twice ode/a/step.c nn/b/step.c nn/b/step.h nn/c/steps.c)" = step.c ] || say "the check of names does not see one that is there twice"

mkdir -p "$bad/studies/lab"
printf 'typedef struct Study Study;\n' >"$bad/studies/lab/own.h"
printf 'typedef struct {\n} Study;\ntypedef struct {\n} Alone;\n' >"$bad/its.c"
printf 'typedef struct {\n} Alone;\n' >"$bad/other.c"
[ "$(retyped "$bad/its.c" "$bad/other.c" "$bad/studies/lab/own.h" | wc -l)" = 1 ] || say "the check of types does not see one that is there twice"

printf 'struct a {\n    const char *\n        words; /* what is said */\n    /* what is meant */\n    const char *thought;\n};\n' >"$bad/torn.h"
[ "$(torn "$bad/torn.h")" = "$bad/torn.h:2:    const char *" ] || say "the check of declarations does not tell a torn one from a whole one"

mkdir -p "$bad/plots"
printf '![Shown](plots/shown.svg), and a word of plots/hidden.svg\n' >"$bad/README.md"
[ "$(unseen "$bad/README.md" "$bad/plots/shown.svg" "$bad/plots/hidden.svg")" = "$bad/plots/hidden.svg" ] ||
    say "the check of recorded plots does not tell one that a README shows from one that none does"

printf 'Reading order: `first.h`, `part_*.c`, and a word of second.c\n' >"$bad/README.md"
[ "$(unlisted "$bad/README.md" first.c first.h part_one.c second.c)" = second.c ] ||
    say "the check of READMEs does not tell a file that one names from one that it does not"

finding() { printf '%s. **Is it?** %s *How sure:* Planned. More.\n' "$1" "$2"; }
row() { printf '| %s | Is it? | %s | %s | [page](page.md) |\n' "$1" "$2" "$3"; }
{ finding 1 'Yes, 1.2.' && finding 2 No. && finding 3 No. && finding 4 No.; } >"$bad/found.md"
{ echo Words && row 1 'Yes, 1.3.' Planned. && row 2 No. Planned. && row 3 No. Not. && row 5 No. Planned.; } >"$bad/README.md"
[ "$(untold "$bad/found.md" "$bad/README.md" | sort | xargs)" = '1 3 4 5' ] ||
    say "the check of findings does not tell a row that has a finding's words from one that differs, lacks or has none"

# ---- the repository
# Every folder that has sources is looked at, wherever it stands, so that one that moves is not forgotten.
folders=$(git ls-files '*.c' '*.h' '*.cu' 2>/dev/null | sed 's|/[^/]*$||' | sort -u)
[ "$(echo "$folders" | wc -l)" -gt 40 ] || say "git lists no sources"
for room in $folders; do
    files=$(ls $room/*.c $room/*.h $room/*.cu 2>/dev/null)
    [ "$(echo "$files" | wc -l)" -le 40 ] || say "$room/ has more than 40 sources"
    found=$(format $files)
    [ -z "$found" ] || say "not as .clang-format has it ('make format' mends it):
$found"
    found=$(layering $room $files)
    [ -z "$found" ] || say "an include that points the wrong way:
$found"
done
found=$(paths $(git ls-files 2>/dev/null | grep -v '^nn/kjv/.*\.txt$'))
[ -z "$found" ] || say "a path of one machine:
$found"

# A folder without a page of its own is on that of the room that it lies in.
for folder in $(echo "$folders" | grep '^studies/\|^ode/' | grep -v '/example$\|/peer$'); do
    page=$folder/README.md
    [ -f "$page" ] || page=${folder%/*}/README.md
    found=$(unlisted "$page" $(ls "$folder"/*.c "$folder"/*.h 2>/dev/null))
    [ -z "$found" ] || say "a file that the README of its folder does not name:
$found"
done

found=$(unseen "$(git ls-files '*.md' 2>/dev/null)" $(git ls-files '*.svg' 2>/dev/null))
[ -z "$found" ] || say "a recorded plot that no page shows:
$found"

found=$(plots $(git ls-files studies 2>/dev/null | grep '\.c$' | grep -v '/plot\.c$'))
[ -z "$found" ] || say "a plot that may not be of literals (plot.h):
$found"

found=$(signals $(git ls-files tests 2>/dev/null | grep '\.[ch]$' | grep -v '^tests/lib/test\.[ch]$'))
[ -z "$found" ] || say "kill() in a test, whose number may be -1 (test_signal in tests/lib/test.h):
$found"

found=$(untold studies/results/README.md README.md)
grep -q '^1\. ' studies/results/README.md || say "studies/results/README.md has no numbered findings"
[ -z "$found" ] || say "findings of studies/results/README.md whose beginning is no row of README.md, or rows without one:
$found"

found=$(unclear $(git ls-files '*.c' '*.h' 2>/dev/null))
[ -z "$found" ] || say "complex numbers that clang does not compile (kernels/base/cmplx.h):
$found"

found=$(without $(git ls-files '*.c' 2>/dev/null))
[ -z "$found" ] || say "a source that does not compile without a library:
$found"

found=$(torn $(git ls-files '*.c' '*.h' 2>/dev/null))
[ -z "$found" ] || say "a declaration that is torn: put its comment above it:
$found"

found=$(unnamed $(git ls-files '*.c' '*.h' '*.cu' '*.cuh' '*.cpp' 2>/dev/null))
[ -z "$found" ] || say "a source whose first line does not begin with its own name:
$found"

found=$(twice $(git ls-files kernels ode nn bridge studies 2>/dev/null | grep '\.[ch]$' | grep -v '/example/\|/peer/'))
[ -z "$found" ] || say "two sources of one name, which a reader cannot tell apart:
$found"

found=$(retyped $(git ls-files 'studies/*.[ch]'))
[ -z "$found" ] || say "types that what makes studies declares, and another file too:
$found"

[ $failed = 0 ] && echo "lint: formatting, layering, READMEs, paths, plots, signals, findings and names are as they should be"
exit $failed
