# man.awk: trotter.h as a man page, trotter(3): comments are words, declarations stand as they are.
#   awk -v version=0.2.0 -f man.awk trotter.h
function words(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    if (text ~ /^[.']/) text = "\\&" text
    print text
}
BEGIN { printf ".TH TROTTER 3 \"\" \"Trotter %s\" \"Library\"\n.SH NAME\ntrotter \\- integrators as texts, from C\n", version }
/^#ifndef TROTTER_H/ { body = 1 }
/^#|^extern "C"|^}$/ { next }
/^\/\* ---- / { gsub(/^\/\* -+ | -+ \*\/$/, ""); print ".SH " toupper($0); next }
!body && /^\/\*/ { print ".SH DESCRIPTION"; inside = 1; next }
!body { line = $0; sub(/^ \*\/?/, "", line); shown = line ~ /^     /
        if (shown != example) print shown ? ".nf" : ".fi"
        example = shown
        if (line == "") { print ".PP"; next }
        sub(/^ /, "", line); words(line); next }
/^\/\*/ { if (code) print ".fi"; code = 0; comment = 1; print ".PP" }
comment { line = $0; last = line ~ /\*\//; sub(/^\/?\*+ ?/, "", line); sub(/^ \* ?/, "", line); sub(/ *\*\/.*$/, "", line); words(line); if (last) comment = 0; next }
/^$/ { if (code) { print ".fi"; code = 0 } next }
{ if (!code) { print ".PP\n.nf"; code = 1 } words($0) }
END { if (code) print ".fi" }
