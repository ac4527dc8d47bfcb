#!/bin/sh
# coverage.sh BUILD "PROGRAM..." FILE...: runs those tests in a build with --coverage, then prints a table of
# the lines and branches of each FILE (without .c) that were taken; 1 where a test failed or a file has less
# than 95 % of its branches taken. A branch is one way out of a condition, as gcov counts it, also in TRY
# and where memory is short. Ways that no test can take are listed in coverage.unreached, with the reason:
#
#     FILE | text that the line has | reason
#
# They are not counted. Only a way out of a condition that was met is forgiven, and a row that forgives none is an error.
build=$1 tests=$2
shift 2
list=tests/scripts/coverage.unreached
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# table NAME SOURCE LIST <gcov's text: the row of a file; 1 where it has too few branches taken, or a row of the list forgives none.
table() {
    awk -v name="$1" -v own="$2" -v list="$3" '
        BEGIN {
            while ((getline row < list) > 0)
                if (split(row, part, / \| /) == 3 && part[1] == name) text[++rows] = part[2]
        }
        /^ *-: *0:Source:/ { mine = (substr($0, index($0, "Source:") + 7) == own); next }
        !mine { next }
        /^ *[0-9#=*-]+[^:]*: *[1-9][0-9]*:/ {
            line = $0
            lines += /^ *[0-9]/
            missed += /^ *[#=]/
        }
        /^branch / {
            all++
            if ($3 == "taken" && $4 > 0) { taken++; next }
            for (i = 1; i <= rows && $3 == "taken"; i++)
                if (index(line, text[i])) { used[i]++; all--; forgiven++; break }
        }
        END {
            for (i = 1; i <= rows; i++)
                if (!used[i]) {
                    print "coverage: " name ": no way out of a condition that was met is left on a line with \"" text[i] \
                          "\": strike that row from '"$list"'" >"/dev/stderr"
                    wrong = 1
                }
            if (!all) { print name ": no branch was counted" > "/dev/stderr"; exit 1 }
            short = taken < .95 * all
            printf "%-36s %7.2f%% %8d %9d %8.2f%%%s\n", name, 100 * lines / (lines + missed), all, forgiven, 100 * taken / all,
                   short ? "  below 95 %" : ""
            exit short || wrong
        }
    '
}

# A file of which 17 ways of 18 are taken: 94 %. With `deep` two more, of a condition that is not met.
control() {
    (
        cd "$work" || exit 1
        {
            echo 'int main(int n, char **x) { int a = 0; (void)x;'
            for i in 1 2 3 4 5 6 7 8; do echo "for (int i = 0; i < n; i++) a += $i;"; done
            echo 'if (n > 5) /* far */'
            [ "$1" = deep ] && echo 'if (n > 6) /* deep */'
            echo 'a++; return !a; }'
        } >control.c
        rm -f control.gcda
        cc --coverage -O0 -o control control.c && ./control && gcov -b -c -t control.c 2>/dev/null | table control control.c "$2" >/dev/null 2>&1
    )
}
echo 'control | /* far */ | a control' >"$work/far"
{ cat "$work/far"; echo 'control | a++ | a control'; } >"$work/none"
{ cat "$work/far"; echo 'control | /* deep */ | a control'; } >"$work/deep"
control flat "$work/far" || { echo "coverage: a control failed: a way in the list was not forgiven" >&2; exit 1; }
for c in 'flat /dev/null' "flat $work/none" "deep $work/far" "deep $work/deep"; do
    # shellcheck disable=SC2086
    ! control $c || { echo "coverage: a control failed: nothing was found in $c" >&2; exit 1; }
done

failed=0
# Rows of three parts, of a file that is asked for.
awk -F ' [|] ' -v files=" $* " 'NF != 3 || !index(files, " " $1 " ") { print "coverage: a row of no reader: " $0; bad = 1 } END { exit bad }' \
    "$list" >&2 || failed=1
find "$build" -name '*.gcda' -delete
# shellcheck disable=SC2086
sh tests/scripts/run.sh "$build" $tests || { failed=1; echo "coverage: a test failed; the table is of what ran" >&2; }
printf '\n%-36s %8s %8s %9s %9s\n' reader lines branches forgiven taken
for f in "$@"; do
    gcov -b -c -t -o "$build/$(dirname "$f")" "$f.c" 2>/dev/null | table "$f" "$f.c" "$list" || failed=1
done
exit $failed
