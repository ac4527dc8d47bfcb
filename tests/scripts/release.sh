#!/bin/sh
# release.sh FILE TARGET...: makes each of these targets, whatever becomes of the others, and writes to FILE how each ended and what it
# found: its lines of "check-NAME: ..." and of numbers "# N ... lost". A target that skips something says so there. What all else a
# target printed is in out/release/TARGET.log. It fails where a target fails.
file=$1
shift
mkdir -p out/release && : >"$file.new" || exit 2
failed=0
{
    echo "What \`make release-check\` found of $(git describe --always --dirty 2>/dev/null) on $(date +%F), on $(nproc) cores:"
    echo
} >"$file.new"
for target in "$@"; do
    log=out/release/$target.log start=$(date +%s)
    echo "release-check: $target, see $log" >&2
    ${MAKE:-make} --no-print-directory "$target" >"$log" 2>&1 && end=passed || { end=FAILED; failed=1; }
    {
        printf '%-16s %s %7d s\n' "$target" $end $(($(date +%s) - start))
        grep -E '^(check-[a-z]+|builds): |^# .*(lost|with a fault)\b|^LOST|\[  (PASSED|FAILED)  \]|SKIPPED|^# skipped' "$log" | sed 's/^/    /'
        [ $end = passed ] || tail -n 3 "$log" | sed 's/^/    /'
    } | tee -a "$file.new"
done
mv "$file.new" "$file"
exit $failed
