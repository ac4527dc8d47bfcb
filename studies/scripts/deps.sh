#!/bin/sh
# deps.sh PACKAGE...: installs those of the Debian packages that are missing; prints nothing when none is.
missing=
for p in "$@"; do
    dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
[ -z "$missing" ] && exit 0
command -v apt-get >/dev/null 2>&1 || {
    echo "trotter: not a Debian system; install the equivalents of:$missing" >&2
    echo "trotter: where they are there, NO_DEPS=1 builds with them: make NO_DEPS=1 build" >&2
    exit 2
}
if [ "$(id -u)" = 0 ]; then
    root=
elif command -v sudo >/dev/null 2>&1; then
    root=sudo
else
    echo "trotter: these packages are missing and neither root nor sudo is there to install them:" >&2
    echo "trotter:   apt-get install$missing" >&2
    echo "trotter: NO_DEPS=1 builds without them where that can be: make NO_DEPS=1 build" >&2
    exit 2
fi
echo "installing:$missing" >&2
log=$(mktemp)
if $root apt-get update -qq >"$log" 2>&1 &&
   DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq --no-install-recommends $missing >>"$log" 2>&1; then
    rm -f "$log"
else
    tail -5 "$log" >&2
    echo "trotter: installing$missing failed; the whole log is in $log" >&2
    exit 1
fi
