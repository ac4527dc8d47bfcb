#!/bin/sh
# site.sh DIR [METHOD...]: writes the atlas (README.md): a page for each method, an index, the findings, and the
# manual. `make site` calls it, which has made the program, build/release/typed and the man pages. A page that is
# newer than what it is made of stays. site.sh --page DIR NAME makes that of one method, whose text is build/site/method/NAME.
# TROTTER, WORK and MAN name another program, beside which is `typed`, another folder for what is kept, and that of man pages;
# WASM the script that `make wasm` writes, without which the page of a scheme that is typed says so.
set -u
here=studies/page/site program=${TROTTER:-build/release/trotter} work=${WORK:-build/site} man=${MAN:-build/man} wasm=${WASM:-build/wasm/typed.js}
typed=${program%/*}/typed
tab=$(printf '\t')

fail()
{
    echo "make site: $*" >&2
    exit 1
}

escaped()
{
    sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g; s/"/\&quot;/g'
}

# page TITLE ROOT: a page whose body is the input; ROOT leads to the site's first page.
page()
{
    cat <<END
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>$1 – Trotter</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="$2site.css">
<script src="$2scheme.js" defer></script>
<script src="$2site.js" defer></script>
</head>
<body class="serve">
<nav class="views" aria-label="Pages"><a href="$2index.html">Methods</a><a href="$2typed.html">Scheme</a><a href="$2findings/index.html">Findings</a><a href="$2manual/index.html">Manual</a></nav>
END
    cat
    echo '</body></html>'
}

# ---- a method's page: a row of `sections` is its identifier, its title, and the function sec_IDENTIFIER that writes it ------------
sections='text:Text
told:
regions:Stability
convergence:Measured order
work:Work and precision
block:As a layer of a network
perplexity:Perplexity
certificate:Certificate'

# Why a section has nothing, in words of the program.
why()
{
    printf '<p class="soft">None: %s</p>\n' "$(sed -e "s/^trotter [a-z]*: //" -e 's/ *--[a-z-]* *//' "$1" | tail -n 1 | escaped)"
}

# drawing KIND FILE: a chart that site.js draws of a CSV file.
drawing()
{
    echo "<figure data-draw=\"$1\"><div class=\"chart\"></div><figcaption></figcaption><script type=\"text/csv\">"
    cat "$2"
    echo '</script></figure>'
}

sec_text()
{
    echo '<pre>'
    sed '/^ *$/d' "$text" | escaped
    echo '</pre>'
}

sec_told()
{
    cat "$t.check"
}

sec_regions()
{
    echo '<div class="pair">'
    for kind in region star; do
        if ! "$typed" $kind <"$text" >"$t.all" 2>"$t.err"; then why "$t.err"; continue; fi
        awk -F, -v OFS=, 'NR > 1 { $1 = ""; $3 = sprintf("%.4g", $3); $4 = sprintf("%.4g", $4) } { print }' "$t.all" >"$t.csv"
        drawing $kind "$t.csv"
    done
    echo '</div>'
}

# On the usual system, or where the scheme is for other fields, on one of these. Its start is exact, its sub-flows too.
sec_convergence()
{
    for system in attention fisher kepler; do
        "$program" order $file --scheme "$name" --system $system --csv >"$t.csv" 2>"$t.err"
        [ "$(wc -l <"$t.csv")" -gt 1 ] || continue
        { echo; "$program" order $file --scheme "$name" --system $system --csv --summary 2>>"$t.err"; } >>"$t.csv"
        drawing order "$t.csv"
        return
    done
    why "$t.err"
}

# Schemes with an estimate of their error, on the usual system, beside GSL's.
sec_work()
{
    "$program" order --adaptive $file --scheme "$name" --csv 2>"$t.err" | cut -d, -f1,3,4,8,10 |
        grep -E '^(scheme|gsl:(rkf45|rkck|rk8pd|msadams|msbdf)|'"$name"'),' >"$t.csv"
    if [ "$(wc -l <"$t.csv")" -gt 1 ]; then drawing work "$t.csv"; else why "$t.err"; fi
}

# The lines of the module's block: what goes in, the sublayer, what comes out.
sec_block()
{
    if ! "$program" schemes $file --scheme "$name" --to numpy >"$t.csv" 2>"$t.err"; then
        why "$t.err"
        return
    fi
    sed -n '/^def block/,/^ *return/p' "$t.csv" | escaped | awk '
        BEGIN { is["F"] = "attention"; is["G"] = "feed-forward"; is["H"] = "attention + feed-forward"; is["L"] = "one Transformer layer"
                print "<div class=\"block\"><div class=\"stream\">y</div>" }
        /^def|return|^ *past|^ *slopes/ { next }
        { sub(/^ */, "") }
        match($0, /^k[0-9]+ = [FGHL]\(w, /) {
            k = $1; op = $3; sub(/\(.*/, "", op); set = ""; from = substr($0, RLENGTH + 1)
            if (match(from, /, s=[0-9]+/)) set = " " substr(from, RSTART + 4, RLENGTH - 4)
            sub(/,[^,]*s=[0-9]+\)$|, heads\)$|\)$/, "", from); sub(/, heads$/, "", from)
            gsub(/ \* /, " ", from)
            printf "<div class=\"stage\"><span class=\"from\">%s</span><span class=\"box %s\">%s%s</span><span class=\"to\">%s</span></div>\n", from, op, is[op], set, k
            next
        }
        /^out = / { sub(/^out = /, ""); gsub(/ \* /, " "); print "<div class=\"stage sum\"><span class=\"from\">" $0 "</span><span class=\"to\">y′</span></div>"; next }
        { print "<div class=\"stage\"><code>" $0 "</code></div>" }
        END { print "</div>" }'
}

# Rows of the recorded comparisons with this scheme, by itself or as NAME:SOLVER.
sec_perplexity()
{
    awk -F "$tab" -v name="$name" '
        $1 == name || index($1, name ":") == 1 {
            if (!n++) print "<div class=\"scroll\"><table><thead><tr><th>study</th><th>scheme</th><th class=\"n\">layers</th><th class=\"n\">seeds</th><th class=\"n\">validation</th><th class=\"n\">test</th></tr></thead><tbody>"
            printf "<tr><td><a href=\"../findings/%s.html\">%s</a></td><td>%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%.5g</td><td class=\"n\">%s</td></tr>\n", $3, $2, $1, $4, $5, $6, $7 == "" ? "–" : sprintf("%.5g", $7)
        }
        END { print n ? "</tbody></table></div><p class=\"soft\">Means over seeds. Studies differ in text, width and recipe, so only rows of one study compare.</p>" \
                      : "<p class=\"soft\">None: no recorded study trained a network of this name.</p>" }' "$work/perplexity"
}

sec_certificate()
{
    cert=certificates/$name.json
    if ! "$program" schemes $file --scheme "$name" --certificate json >"$t.csv" 2>"$t.err"; then
        rm -f "$dir/$cert"
        why "$t.err"
        return
    fi
    cp "$t.csv" "$dir/$cert"
    cat <<END
<p><a href="../$cert">$name.json</a>: every condition of its order, and one of the next that fails, in fractions. Who trusts neither this page nor the program checks it with <a href="../check_certificate.py">a short program in Python</a>, or a longer file with Coq:</p>
<pre>python3 check_certificate.py $name.json
trotter schemes${file:+ --scheme-file FILE} --scheme $name --certificate coq &gt; rk.v
coqc rk.v</pre>
END
}

method_page()
{
    name=$1 text=$work/method/$1 t=$work/page/$1 out=$dir/methods/$1.html file=
    grep -q "^$name${tab}built in" "$work/methods" || file="--scheme-file $text"
    "$typed" check <"$text" >"$t.check" 2>"$t.err" || fail "$name: $(cat "$t.err")"
    "$program" schemes $file --scheme "$name" --csv >"$t.row" 2>"$t.err" || fail "$name: $(cat "$t.err")"
    title=$(sed -n 's/^title *//p' "$text" | head -n 1 | escaped) source=$(sed -n 's/^source *//p' "$text" | head -n 1 | escaped)
    {
        echo "<main class=\"method\"><h1>$name</h1><p class=\"where\">${title:+$title. }${source:+Source: $source}</p>"
        echo "$sections" | while IFS=: read -r id heading; do
            echo "<section id=\"$id\">${heading:+<h2>$heading</h2>}"
            "sec_$id"
            echo '</section>'
        done
        echo '</main>'
    } | page "$name" ../ >"$out.new"
    mv "$out.new" "$out"
}

if [ "$1" = --page ]; then
    dir=$2
    method_page "$3"
    exit
fi

# ---- the texts of all methods ----------------------------------------------------------------------------------------------
dir=$1
shift
mkdir -p "$dir/methods" "$dir/findings" "$dir/manual" "$dir/certificates" "$work/method" "$work/page" "$work/new" || exit 1
rm -f "$work"/new/*

# texts SET: writes each scheme of the input to a file of its name, and its name and set to the list. A name that was there stays.
texts()
{
    awk -v set="$1" -v dir="$work/new/" '
        /^# ----/ { file = "" }
        /^scheme / { file = dir $2; if (there[$2] || (getline line < file) > 0) file = ""; else print $2 "\t" set; there[$2] = 1 }
        file != "" && !/^#/ { print >file }' >>"$work/methods.new"
}
: >"$work/methods.new"
names=$("$program" schemes --print --scheme all,implicit,exponential,rosenbrock 2>/dev/null | sed -n 's/^scheme //p')
[ -n "$names" ] || fail "'$program schemes --print' tells of no scheme"
texts 'built in' <ode/scheme/zoo.scheme
"$program" schemes --print --scheme "$(echo "$names" | paste -sd,)" 2>/dev/null | texts 'built in'
texts classics <tests/ode/classics.scheme
while IFS= read -r line; do
    printf '%s\n' "$line" >"$work/tableau.json"
    "$program" schemes --print --scheme-file "$work/tableau.json" 2>/dev/null |
        sed "s|^scheme .*|&\\
source $(printf %s "$line" | sed 's/.*"source":"\([^"]*\)".*/\1/; s/[&|\\]/\\&/g')|; /^source $/d"
done <tests/ode/tableaus.jsonl | texts tableaus
[ $# -eq 0 ] || for name; do grep "^$name$tab" "$work/methods.new" || fail "no method is called $name"; done >"$work/chosen"
[ $# -eq 0 ] || mv "$work/chosen" "$work/methods.new"
mv "$work/methods.new" "$work/methods"
[ $# -gt 0 ] || for file in "$dir"/methods/*.html; do # of methods that are gone
    name=${file##*/}
    grep -q "^${name%.html}$tab" "$work/methods" || rm -f "$file"
done
for f in "$work"/new/*; do
    cmp -s "$f" "$work/method/${f##*/}" || mv "$f" "$work/method/${f##*/}"
done

# ---- what stands beside the methods --------------------------------------------------------------------------------------------
find studies/results -name compare.csv | sort | while IFS= read -r f; do
    study=${f#studies/results/} && study=${study%/compare.csv} page=${study%%/*}
    awk -F, -v study="$study" -v page="$page" -v OFS="$tab" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        at["valid_ppl"] && at["scheme"] && $at["valid_ppl"] != "" { print $at["scheme"], study, page, $at["layers"], $at["seeds"], $at["valid_ppl"], $at["test_ppl"] }' "$f"
done >"$work/perplexity.new"
cmp -s "$work/perplexity.new" "$work/perplexity" || cp "$work/perplexity.new" "$work/perplexity"

cat studies/page/report/page.css studies/page/serve/page.css $here/site.css >"$dir/site.css"
cp studies/page/told/scheme.js $here/site.js studies/scripts/check_certificate.py "$dir/"

find studies/results -name '*.md' ! -name paper.md ! -name schemes.md | sort | while IFS= read -r f; do
    below=${f#studies/results/}
    folder=${below%"${below##*/}"} html=$(echo "${below%.md}" | sed 's|/\{0,1\}README$||; s|/|-|g')
    { echo '<main class="prose">'; awk -v dir="$folder" -f $here/markdown.awk "$f"; echo '</main>'; } |
        page "$(sed -n 's/^# //p' "$f" | head -n 1 | escaped)" ../ >"$dir/findings/${html:-index}.html"
done
find studies/results -name '*.svg' | while IFS= read -r f; do cp "$f" "$dir/findings/$(echo "${f#studies/results/}" | tr / -)"; done

for f in "$man"/*.[135]; do
    html=${f##*/} && html=${html%.*}
    { echo "<main class=\"prose\"><h1>$html</h1>"; awk -f $here/manual.awk "$f"; echo '</main>'; } | page "$html" ../ >"$dir/manual/$html.html"
done
{
    echo '<main class="prose"><h1>Manual</h1><ul>'
    for f in "$dir"/manual/trotter*.html; do
        html=${f##*/}
        echo "<li><a href=\"$html\">${html%.html}</a>$(sed -n '/<h2>NAME/{n;s/^[^ ]* -/:/p;}' "$f")</li>"
    done
    echo '</ul></main>'
} | page Manual ../ >"$dir/manual/index.html"

# The box is that of `serve`; in the place of what it measures stands the order star.
{
    if [ -s "$wasm" ]; then
        cp "$wasm" "$dir/typed.js"
        [ "$wasm" -nt "$typed" ] || echo "make site: $wasm is older than the program: make wasm" >&2
        sed -n '/<main[^>]*id="view-scheme"/,/<\/main>/p' studies/page/serve/page.html | sed 's/ class="view" id="view-scheme" hidden//
            s/scheme-order/scheme-star/; s/<figcaption id="order-said">[^<]*/<figcaption id="order-said">Order star./'
        echo '<script src="typed.js"></script>'
    else
        rm -f "$dir/typed.js"
        echo "make site: a scheme that is typed is not told of: make wasm (Emscripten) writes $wasm" >&2
        echo '<main class="prose"><h1>Scheme</h1><p>A scheme that is typed is not told of here: this site was made without <code>make wasm</code>. <code>trotter serve .</code> tells of it.</p></main>'
    fi
} | page Scheme '' >"$dir/typed.html"

# ---- all methods, then the index -------------------------------------------------------------------------------------------------
: >"$work/todo"
cut -f1 "$work/methods" | while IFS= read -r name; do
    p=$dir/methods/$name.html
    [ "$p" -nt "$program" ] && [ "$p" -nt "$typed" ] && [ "$p" -nt $here/site.sh ] && [ "$p" -nt "$work/method/$name" ] &&
        [ "$p" -nt "$work/perplexity" ] || echo "$name"
done >"$work/todo"
all=$(wc -l <"$work/methods") todo=$(wc -l <"$work/todo")
echo "make site: $todo of $all methods" >&2
<"$work/todo" OMP_NUM_THREADS=1 xargs -P "${JOBS:-2}" -I{} sh -c 'sh "$0" --page "$1" "$2" && echo "make site: $2" >&2 || exit 255' "$0" "$dir" {} || exit 1

{
    echo '<main><h1>An atlas of methods</h1><p>One step of an integrator of y′ = F(y) + G(y), written as a text. All that is said of a method is read off its text by the program, and what is measured was measured by it. A <a href="typed.html">scheme of your own</a> is told of as you type it.</p>'
    echo '<form class="row"><label>Keep <input type="search" id="index-find" placeholder="implicit order&gt;4"></label><span class="soft" id="index-said"></span></form>'
    echo '<div class="scroll"><table id="index"><thead><tr>'
    for c in method order stages embedded real imaginary 'error norm²' set title; do echo "<th scope=\"col\"><button type=\"button\">$c</button></th>"; done
    echo '</tr></thead><tbody>'
    while IFS=$tab read -r name set; do
        title=$(sed -n 's/^title *//p; s/^source *//p' "$work/method/$name" | head -n 1 | escaped)
        awk -F, -v set="$set" -v title="$title" '
            function cell(n, form) { v = at[n] ? $at[n] : ""; return "<td class=\"n\" data-value=\"" v "\">" (v == "" ? "–" : v ~ /inf/ ? (v ~ /-/ ? "−∞" : "∞") : sprintf(form, v)) "</td>" }
            NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
            { print "<tr><th scope=\"row\"><a href=\"methods/" $1 ".html\">" $1 "</a></th>" cell("order", "%d") cell("stages", "%d") cell("embedded_order", "%d") \
                    cell("real_limit", "%.4g") cell("imag_limit", "%.4g") cell("error_norm2", "%.3g") "<td>" set "</td><td>" title "</td></tr>" }' "$work/page/$name.row"
    done <"$work/methods"
    echo '</tbody></table></div>'
    echo '<p class="soft">Order p: local error O(h^(p+1)). Real, imaginary: ends of the interval of stability. Every method over H = F + G has a form over a Transformer layer, NAME-layer, and one for decoders, NAME-decoder; of these the decoders have no pages. Sets: built in; schemes of tests/ode/classics.scheme; tableaus of tests/ode/tableaus.jsonl.</p></main>'
} | page Methods '' >"$dir/index.html"
echo "make site: $dir/index.html, $(du -sk "$dir" | cut -f1) KB" >&2
