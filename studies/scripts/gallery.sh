#!/bin/sh
# gallery.sh PROGRAM TEXT DIR: runs the commands of TEXT (gallery.txt) and makes DIR/index.html of their pictures, which lie
# beside it as SVG. It stops at a command that fails or leaves no picture.
set -u
program=$1 text=$2 dir=$3
css=$(dirname "$0")/../page/report/page.css
lines=$(grep -cv '^#' "$text")
mkdir -p "$dir" || exit 2

escaped()
{
    printf %s "$1" | sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g; s/"/\&quot;/g'
}

fail()
{
    echo "make gallery: $1" >&2
    exit 1
}

{
    echo '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Trotter: gallery</title>'
    echo '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><style>'
    cat "$css"
    echo '.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(30rem, 100%), 1fr)); gap: 0 2rem; }'
    echo '.gallery pre { font-size: .75em; } .gallery pre span { display: inline-block; } figcaption { max-width: none; }'
    echo '@media print { .gallery { grid-template-columns: 1fr 1fr; } figure img { max-height: 70mm; } }'
    echo '</style></head><body><h1>Gallery</h1><p>Each picture with its command, from the top of the source tree. Its folder has the numbers.</p>'
    echo '<div class="gallery">'
} >"$dir/index.new"

n=0 ran=
while IFS= read -r line; do
    case $line in '#'*) continue ;; esac
    n=$((n + 1))
    picture=${line%% | *} rest=${line#* | }
    command=${rest%% | *} caption=${rest#* | }
    name=${picture%/*}
    case " $ran " in
    *" $name "*) ;;
    *)
        echo "gallery: $n of $lines: $command" >&2
        eval "\"\$program\" ${command#trotter } --out \"\$dir/$name\"" >"$dir/$name.log" 2>&1 </dev/null ||
            fail "$command: $(tail -n 1 "$dir/$name.log")"
        ran="$ran $name"
        ;;
    esac
    [ -s "$dir/$picture.svg" ] || fail "$command leaves no $picture.svg; is gnuplot there?"
    cp "$dir/$picture.svg" "$dir/$name-${picture#*/}.svg"
    {
        echo "<figure><img src=\"$name-${picture#*/}.svg\" alt=\"$(escaped "$caption")\">"
        echo "<figcaption>$(escaped "$caption") <a href=\"$name/\">Numbers</a></figcaption>"
        echo "<pre><span>$(escaped "$command --out $dir/$name" | sed 's| --|</span> <span>--|g')</span></pre></figure>"
    } >>"$dir/index.new"
done <"$text"
echo '</div></body></html>' >>"$dir/index.new"
mv "$dir/index.new" "$dir/index.html"
echo "gallery: $n pictures in $dir/index.html" >&2
