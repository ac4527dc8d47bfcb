#!/bin/sh
# deps.sh PACKAGE...: installs those of the Debian packages that are missing; prints nothing when none is. What the release does
# not have is told and left out, since it may have become a part of another package.
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
# Installs what apt has of $missing.
install()
{
    there=
    $root apt-get update -qq || return
    for p in $missing; do
        if LC_ALL=C apt-cache policy "$p" | grep -q "Candidate: [^(]"; then there="$there $p"; else absent="$absent $p"; fi
    done
    DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq --no-install-recommends $there
}
absent=
if install >"$log" 2>&1; then
    [ -z "$absent" ] || echo "trotter: this release has no$absent; going on without" >&2
    rm -f "$log"
else
    tail -5 "$log" >&2
    echo "trotter: installing$missing failed; the whole log is in $log" >&2
    exit 1
fi
