# markdown.awk: a page of studies/results as HTML. -v dir=FOLDER ("" or "dial/") of the page below studies/results. A link to
# another of these pages leads there, and images are those beside them, where a folder's name becomes a part of the file's; what
# else is linked is not in the site, and stays a word.
function escaped(s) { gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s); gsub(/>/, "\\&gt;", s); gsub(/"/, "\\&quot;", s); return s }

# "dial/" and "../ptb/README.md" make "ptb/README.md"; "" is outside of studies/results.
function joined(target,   path) {
    path = dir target
    while (match(path, /[^\/]+\/\.\.\//)) path = substr(path, 1, RSTART - 1) substr(path, RSTART + RLENGTH)
    return path ~ /^\.\./ || path ~ /:/ ? "" : path
}
function flat(path) { gsub(/\//, "-", path); return path }
function page_of(path) {
    if (path !~ /\.md$/) return ""
    sub(/README\.md$/, "", path); sub(/\.md$/, "", path); sub(/\/$/, "", path)
    return (path == "" ? "index" : flat(path)) ".html"
}

# What stands between words. In code nothing else has a meaning.
function inline(s,   out, n, k, part) {
    n = split(s, part, "`")
    for (k = 1; k <= n; k++) {
        part[k] = escaped(part[k])
        if (k % 2 == 0) { gsub(/\*/, "\001", part[k]); gsub(/\[/, "\002", part[k]); part[k] = "<code>" part[k] "</code>" }
        out = out part[k]
    }
    out = marks(links(out))
    gsub(/\001/, "*", out); gsub(/\002/, "[", out)
    return out
}
function marks(s,   a) {
    while (match(s, /\*\*[^*]+\*\*/)) s = substr(s, 1, RSTART - 1) "<b>" substr(s, RSTART + 2, RLENGTH - 4) "</b>" substr(s, RSTART + RLENGTH)
    while (match(s, /\*[^* ][^*]*\*/)) s = substr(s, 1, RSTART - 1) "<em>" substr(s, RSTART + 1, RLENGTH - 2) "</em>" substr(s, RSTART + RLENGTH)
    return s
}
function links(s,   out, all, words, target, bang, path) {
    while (match(s, /!?\[[^\]]*\]\([^)]*\)/)) {
        all = substr(s, RSTART, RLENGTH)
        out = out substr(s, 1, RSTART - 1)
        s = substr(s, RSTART + RLENGTH)
        bang = all ~ /^!/
        words = all; sub(/^!?\[/, "", words); sub(/\]\(.*/, "", words)
        target = all; sub(/^.*\]\(/, "", target); sub(/\)$/, "", target); sub(/#.*/, "", target)
        path = joined(target)
        if (bang) out = out "<img src=\"" flat(path) "\" alt=\"" words "\">"
        else if (target ~ /^https?:/) out = out "<a href=\"" target "\">" words "</a>"
        else if (page_of(path) != "" && path != "") out = out "<a href=\"" page_of(path) "\">" words "</a>"
        else out = out words
    }
    return out s
}

function close_all() {
    if (kind == "p" || kind == "li") print inline(text) (kind == "p" ? "</p>" : "</li>")
    text = ""; kind = ""
}
function close_block() {
    close_all()
    if (list != "") print "</" list ">"
    if (rows) print "</tbody></table></div>"
    list = ""; rows = 0
}
function item(tag, words) {
    close_all()
    if (rows) close_block()
    if (list != tag) { if (list != "") print "</" list ">"; print "<" tag ">"; list = tag }
    printf "<li>"; kind = "li"; text = words
}
function row(line,   n, k, cell, tag) {
    sub(/^\|/, "", line); sub(/\| *$/, "", line)
    n = split(line, cell, "|")
    tag = rows == 1 ? "th" : "td"
    printf "<tr>"
    for (k = 1; k <= n; k++) printf "<%s%s>%s</%s>", tag, number[k] ? " class=\"n\"" : "", inline(cell[k]), tag
    print "</tr>"
}

/^```/ { close_block(); print fenced ? "</pre>" : "<pre>"; fenced = !fenced; next }
fenced { print escaped($0); next }
/^<!--/ { next }
/^#+ / { close_block(); n = index($0, " ") - 1; print "<h" n ">" inline(substr($0, n + 2)) "</h" n ">"; next }
/^\|[-:| ]+\|$/ { next }
/^\|/ {
    if (!rows) {
        close_block(); rows = 1; delete number
        print "<div class=\"scroll\"><table><thead>"
        row($0); print "</thead><tbody>"; rows = 2; next
    }
    row($0); next
}
/^[-*] / { item("ul", substr($0, 3)); next }
/^[0-9]+\. / { item("ol", substr($0, index($0, " ") + 1)); next }
/^ *$/ { if (rows) close_block(); else close_all(); next }
/^    / && kind == "" && list == "" { close_block(); print "<pre>" escaped(substr($0, 5)) "</pre>"; next }
{
    if (kind == "") { close_block(); printf "<p>"; kind = "p"; text = $0 }
    else text = text " " $0
}
END { close_block() }
