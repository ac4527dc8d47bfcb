# manual.awk: a man page of `make man` as HTML; it knows the macros and escapes that those pages have.
function plain(s) {
    gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s); gsub(/>/, "\\&gt;", s)
    gsub(/\\:/, "", s); gsub(/\\&amp;/, "", s)
    gsub(/\\\(aq/, "'", s); gsub(/\\\(ga/, "`", s); gsub(/\\\(ha/, "^", s); gsub(/\\\(ti/, "~", s); gsub(/\\\(dq/, "\\&quot;", s)
    gsub(/\\fB/, "<b>", s); gsub(/\\fI/, "<i>", s)
    while (match(s, /<[bi]>[^\\]*\\f[PR]/))
        s = substr(s, 1, RSTART + RLENGTH - 4) "</" substr(s, RSTART + 1, 1) ">" substr(s, RSTART + RLENGTH)
    gsub(/\\-/, "-", s); gsub(/\\e/, "\\", s)
    return s
}
function words(s) { gsub(/^"|"$/, "", s); gsub(/" "/, " ", s); gsub(/ +/, " ", s); return plain(s) }
function head(tag, s) { close_list(); print "<" tag ">" words(s) "</" tag ">" }
function close_list() { if (listed) print "</dd></dl>"; listed = 0 }

# .BR trotter\-train (1) leads to that page.
function reference(s,   name, rest, page) {
    name = s; sub(/ .*/, "", name); rest = substr(s, length(name) + 2)
    name = plain(name); page = name
    gsub(/"/, "", page)
    return "<a href=\"" page ".html\">" name "</a>" plain(rest)
}

/^\.\\"/ || /^\.(nr|ad|ss) / { next }
/^\.TH / { next }
/^\.SH / { head("h2", substr($0, 5)); next }
/^\.SS / { head("h3", substr($0, 5)); next }
/^\.PP/ { close_list(); print "<p>"; next }
/^\.TP/ { if (!listed) print "<dl>"; else print "</dd>"; listed = 1; term = 1; next }
/^\.(EX|nf)/ { print "<pre>"; next }
/^\.(EE|fi)/ { print "</pre>"; next }
/^\.BR / && $0 ~ /\([0-9]\)/ { line = reference(substr($0, 5)) }
/^\.BR / && $0 !~ /\([0-9]\)/ { line = "<b>" words(substr($0, 5)) "</b>" }
/^\.B / { line = "<b>" words(substr($0, 4)) "</b>" }
/^\.BI / { line = "<code>" words(substr($0, 5)) "</code>" }
!/^\.B/ { line = plain($0) }
{
    if (term) print "<dt>" line "</dt><dd>"
    else print line
    term = 0
}
END { close_list() }
