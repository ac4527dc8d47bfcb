#!/bin/sh
# wasm.sh: typed.c for browsers, as the script build/wasm/typed.js, which sets TYPED to the source of a worker's module (site.js).
# `make wasm` calls it.
# Libraries come as Debian's source packages and are built below build/wasm; nothing of theirs is kept elsewhere. Of FLINT, Arb
# and our own folders a source is compiled where the linker misses a name that it defines: 1 in 20 of FLINT's.
# WORK: another folder for what is kept. JOBS: compilers at a time.
set -u
work=$(mkdir -p "${WORK:-build/wasm}" && cd "${WORK:-build/wasm}" && pwd)
export NODE_PATH=/usr/share/nodejs${NODE_PATH:+:$NODE_PATH} # of Debian's acorn, which node from elsewhere would not find
export NODE_OPTIONS=--no-experimental-fetch                 # Emscripten 3.1.6 takes a node that has fetch for a browser

fail()
{
    echo "make wasm: $*" >&2
    exit 1
}

command -v emcc >/dev/null || fail "no emcc: apt-get install emscripten"

# ---- sources, of the release that is installed --------------------------------------------------------------------------------
packages='gmp mpfr4 flint flint-arb jansson nettle libunistring'
fetch()
{
    mkdir -p "$work/apt/lists/partial" "$work/source" || exit 1
    cat /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources 2>/dev/null |
        sed 's/^deb /deb-src /; s/^Types: .*/Types: deb-src/' >"$work/apt/debian.sources"
    grep -q ^Types "$work/apt/debian.sources" || mv "$work/apt/debian.sources" "$work/apt/debian.list"
    set -- -qq -o Dir::Etc::sourcelist="$(echo "$work"/apt/debian.*)" -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$work/apt/lists"
    apt-get "$@" update || fail 'no lists of source packages'
    for p in $packages; do
        (cd "$work/apt" && apt-get "$@" source --download-only "$p" 2>/dev/null) || fail "no source package $p"
        mkdir -p "$work/source/$p.new"
        tar xf "$(find "$work/apt" -name "${p}_*.orig.tar.?z")" -C "$work/source/$p.new" --strip-components=1 || exit 1
        mv "$work/source/$p.new" "$work/source/$p"
    done
}
for p in $packages; do [ -d "$work/source/$p" ] || { rm -rf "$work/source" && fetch && break; }; done

# ---- GMP: C alone; `long`, and so its limbs, have 32 bits here ---------------------------------------------------------------------
if [ ! -e "$work/lib/libgmp.a" ]; then
    echo 'make wasm: GMP' >&2
    (cd "$work/source/gmp" && mkdir -p doc && printf 'all install:\n' >doc/Makefile.in && # Debian leaves the manual out
        CC_FOR_BUILD=gcc emconfigure ./configure --host=none --disable-assembly --disable-shared --prefix="$work" CFLAGS=-O2 &&
        emmake make -j"${JOBS:-2}" SUBDIRS='mpn mpz mpq mpf printf scanf rand .' install) >"$work/gmp.log" 2>&1 || fail "GMP: see $work/gmp.log"
fi

# ---- headers -----------------------------------------------------------------------------------------------------------------------
flint=$work/source/flint
cp "$work/source/mpfr4/src/mparam_h.in" "$work/source/mpfr4/src/mparam.h"
cp "$flint/fmpz/link/fmpz_single.c" "$flint/fmpz/fmpz.c"
cp "$flint/fmpz-conversions-single.in" "$flint/fmpz-conversions.h"
cp "$flint/fft_tuning32.in" "$flint/fft_tuning.h"
for flag in USES_TLS REENTRANT WANT_ASSERT USES_CPUSET USES_PTHREAD USES_BLAS USES_FENV; do echo "#define FLINT_$flag 0"; done >"$flint/flint-config.h"
echo '#define FLINT_DLL' >>"$flint/flint-config.h"
ln -sfn "$flint" "$work/include/flint"
ln -sfn "$work/source/mpfr4/src/mpfr.h" "$work/include/mpfr.h"
for h in ini.h jansson.h jansson_config.h unistr.h unitypes.h uniwidth.h unistring nettle; do ln -sfn "/usr/include/$h" "$work/include/$h"; done
echo '#define INITIAL_HASHTABLE_ORDER 3' >"$work/include/jansson_private_config.h"
: >"$work/include/config.h"

# ---- what defines which name ----------------------------------------------------------------------------------------------------------
# Definitions begin a line, and their names stand before its first bracket, or before = or ;.
names='/^(ARB_DEF_CACHED_CONSTANT|MPFR_DECL_INIT_CACHE) *\(/ { split($0, part, /[(,]/); print part[2], FILENAME; next }
    /^(static|typedef|extern|struct|union|enum|return|goto|else)[^A-Za-z0-9_]/ || !/^[A-Za-z_]/ { next }
    { line = $0; sub(/ *=.*/, "", line) }
    match(line, /[A-Za-z_0-9]+ *\(/) { if (!/; *$/) { name = substr(line, RSTART, RLENGTH - 1); sub(/ *$/, "", name); print name, FILENAME } next }
    /=|;/ && match(line, /[A-Za-z_0-9]+ *(\[.*)?;? *$/) { name = substr(line, RSTART); sub(/[^A-Za-z_0-9].*/, "", name); print name, FILENAME }'
find kernels ode nn bridge studies "$work/source/flint" "$work/source/flint-arb" "$work/source/mpfr4/src" "$work/source/jansson/src" "$work/source/nettle/base64-encode.c" \
    "$work/source/libunistring/lib/uniwidth" "$work/source/libunistring/lib/unistr" -name '*.c' | grep -vE '/(test|tune|profile|link|example|examples|interfaces|peer)/|_test\.c$' |
    sort >"$work/sources"
xargs awk "$names" <"$work/sources" | grep -E '^[^ ]+_|^[^ ]+ [^/]' >"$work/names" # without a _ a name of others is the C library's

# ---- compiled and linked, until no name is missed that is known -------------------------------------------------------------------------
: >"$work/nothing.c"
emcc -v -c "$work/nothing.c" -o "$work/nothing.o" 2>"$work/emcc.log"
clang=$(sed -n 's/^ *"\{0,1\}\([^ "]*clang[^ "]*\)"\{0,1\} .*-target .*/\1/p' "$work/emcc.log" | head -n 1) # emcc itself takes longer to start than to compile
[ -n "$clang" ] || fail "emcc -v does not name its compiler: see $work/emcc.log"
export flags="$(emcc --cflags) -O2 -D_GNU_SOURCE -isystem $work/include -isystem $work/source/flint-arb" clang work
object()
{
    case $1 in "$work"/*) echo "$work/object/${1#"$work/source/"}.o" ;; *) echo "$work/own/$1.o" ;; esac
}
# Ours are compiled anew where one of them is newer.
compile()
{
    while IFS= read -r f; do
        o=$(object "$f")
        [ -e "$o" ] || { mkdir -p "${o%/*}" && echo "$f $o"; }
    done <"$work/new" | xargs -r -P "${JOBS:-2}" -L 1 sh -c '
        case $0 in */mpfr4/*) more="-w -DHAVE_STDARG=1 -DHAVE_VA_COPY -DHAVE_STDINT_H -DHAVE_INTTYPES_H -DHAVE_LONG_LONG -DHAVE_INTMAX_T -DMPFR_HAVE_INTMAX_MAX -DHAVE_LITTLE_ENDIAN -DMPFR_LONG_WITHIN_LIMB -I$work/source/mpfr4/src" ;; /*) more="-w -DHAVE_STDINT_H -DHAVE_CONFIG_H -I$work/source/flint -idirafter $work/source/libunistring/lib" ;; *) more="-std=c17 -I. -Wall -Wextra -Wconversion -Wno-missing-field-initializers -Wno-unknown-pragmas" ;; esac
        $clang $flags $more -c -o "$1" "$0"' || fail 'a source does not compile'
    while IFS= read -r f; do object "$f"; done <"$work/new" >>"$work/objects"
}
[ -z "$(find kernels ode nn bridge studies -name '*.[ch]' -newer "$work/own" 2>&1)" ] || rm -rf "$work/own"
mkdir -p "$work/own"
: >"$work/objects"
# Of these of MPFR the name is a macro.
printf '%s\n' studies/page/site/typed.c "$work"/source/mpfr4/src/mp_clz_tab.c "$work"/source/mpfr4/src/pow_ui.c "$work"/source/mpfr4/src/fits_slong.c >"$work/new"
while [ -s "$work/new" ]; do
    compile
    echo "make wasm: $(wc -l <"$work/objects") sources" >&2
    # shellcheck disable=SC2046
    wasm-ld --no-entry --export=typed_tell --export=error_text --export=memory_free --error-limit=0 -o "$work/tried.wasm" $(cat "$work/objects") "$work/lib/libgmp.a" 2>"$work/missed"
    sed -n 's/.*undefined symbol: //p' "$work/missed" | sort -u |
        awk 'NR == FNR { if (!($1 in of)) of[$1] = $2; next } $1 in of { print of[$1] }' "$work/names" - | sort -u |
        while IFS= read -r f; do grep -qxF "$(object "$f")" "$work/objects" || echo "$f"; done >"$work/new"
done
# shellcheck disable=SC2046
emcc -O2 -sSINGLE_FILE=1 -sALLOW_MEMORY_GROWTH=1 -sMODULARIZE=1 -sEXPORT_NAME=typedModule -sENVIRONMENT=worker,node -sFILESYSTEM=0 \
    -sEXPORTED_FUNCTIONS=_typed_tell,_error_text,_memory_free -sEXPORTED_RUNTIME_METHODS=ccall,UTF8ToString \
    -o "$work/module.js" $(cat "$work/objects") "$work/lib/libgmp.a" || fail 'the linker fails'
node -e 'console.log("const TYPED = " + JSON.stringify(fs.readFileSync(process.argv[1], "utf8")) + ";")' "$work/module.js" >"$work/typed.js" || fail 'no script'
echo "make wasm: ${WORK:-build/wasm}/typed.js, $(($(wc -c <"$work/typed.js") / 1024)) KB of $(wc -l <"$work/objects") sources and GMP" >&2
