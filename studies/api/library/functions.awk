# functions.awk: each function of trotter.h as a man page, NAME.3.
#   awk -v version=0.3.0 -v dir=man3 -f functions.awk trotter.h
function words(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    gsub(/'/, "\\(aq", text)
    gsub(/\^/, "\\(ha", text)
    return text ~ /^\./ ? "\\&" text : text
}
function page(name,   file, about, short, line, n, i) {
    about = said ? said : beside ? beside : name ~ /_free$/ ? "Frees a handle; NULL is allowed." : ""
    short = about
    sub(/[.,;:(] ?.*/, "", short)
    if (short !~ /^[A-Z][a-z]+ [a-z]/) short = part ": " substr(name, 9) # of what, by its name
    gsub(/_/, " ", short)
    file = dir "/" name ".3"
    printf ".TH %s 3 \"\" \"Trotter %s\" \"Library\"\n.nr HY 0\n.ad l\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.nf\n", name, version, name, words(short) >file
    print "#include <trotter.h>\n" >file
    n = split(declared, line, "\n")
    for (i = 1; i <= n; i++) print words(line[i]) >file
    print ".fi\n.SH DESCRIPTION\n" words(about ? about : "Results and types are those of the section on " part ".") >file
    if (said && beside) print ".PP\n" words(beside) >file
    print ".SH SEE ALSO\n.BR trotter (3)" >file
    close(file)
}
/^\/\* ---- / { gsub(/^\/\* -+ | -+ \*\/$/, ""); part = $0; said = ""; next }
/^#|^extern/ || !/./ { said = ""; next }
/^\/\*/ { comment = 1; said = "" }
comment { line = $0; comment = line !~ /\*\//; sub(/^ ?\/?\*+\/? ?/, "", line); sub(/ *\*\/.*$/, "", line)
          said = said (said ? " " : "") line; next }
/^typedef.*{$|^enum.*{$/ { inside = 1 }
inside { inside = !/^}/; said = inside ? said : ""; next }
/^}/ { next }
{ line = $0; beside = ""
  if (match(line, / *\/\*.*\*\//)) { beside = substr(line, RSTART, RLENGTH); line = substr(line, 1, RSTART - 1)
                                      gsub(/^ *\/\* *| *\*\/$/, "", beside) }
  declared = declared (declared ? "\n" : "") line }
declared ~ /;$/ { if (declared !~ /^typedef/ && match(declared, /trotter_[a-z_]+\(/)) { page(substr(declared, RSTART, RLENGTH - 1)); said = "" }
                  declared = "" }
