# schemes.awk: the language of schemes as a man page, trotter-schemes(5), of ode/scheme/README.md.
#   awk -v version=0.3.0 -f schemes.awk ode/scheme/README.md
function words(text,   n, part, i) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    gsub(/'/, "\\(aq", text)
    gsub(/\^/, "\\(ha", text)
    gsub(/~/, "\\(ti", text)
    gsub(/φ/, "phi", text)
    gsub(/Σ/, "sum", text)
    gsub(/²/, "^2", text)
    gsub(/±/, "+-", text)
    gsub(/ö/, "\\(:o", text)
    if (example) return text
    while (match(text, /\[[^]]*\]\([^)]*\.md[^)]*\)/)) # a link: its words
        text = substr(text, 1, RSTART - 1) substr(text, RSTART + 1, index(substr(text, RSTART), "]") - 2) substr(text, RSTART + RLENGTH)
    n = split(text, part, "`") # every other part is code
    for (i = 1; i <= n; i++) {
        if (i % 2) gsub(/\*/, "", part[i])
        text = i == 1 ? part[1] : text (i % 2 ? "\\fP" : "\\fB") part[i]
    }
    if (text ~ /^\./) text = "\\&" text
    return text
}
BEGIN { printf ".TH TROTTER\\-SCHEMES 5 \"\" \"Trotter %s\" \"Trotter\"\n.nr HY 0\n.ad l\n.SH NAME\ntrotter\\-schemes \\- texts of integrators\n", version }
/^##? / { told = !/The files$/
          sub(/^#* /, ""); if (told) print ".SH " toupper($0); fresh = 1; next }
!told { next }
example && !/^    / { print ".EE"; example = 0 }
/^$/ { parted = !fresh; next }
/^\|--/ || /^\| (statement|name) / { next }
/^\| / { line = substr($0, 3); sub(/ \|$/, "", line); at = index(line, " | ")
         print ".TP\n" words(substr(line, 1, at - 1)) "\n" words(substr(line, at + 3)); next }
/^    / { if (!example) print ".PP\n.EX"; example = 1; print words($0); next }
{ if (parted) print ".PP"; parted = fresh = 0; print words($0) }
END { print ".SH SEE ALSO\n.BR trotter\\-schemes (1),\n.BR trotter\\-expand (1),\n.BR trotter\\-systems (5)" }
