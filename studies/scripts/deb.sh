#!/bin/sh
# deb.sh DIR VERSION SONAME: makes out/*.deb of DIR/all, an installation under /usr, with DIR/trotter and DIR/SONAME, whose
# libraries are found by name. Maintainer: $DEBFULLNAME, $DEBEMAIL.
set -eu
umask 022 # files of a package are for all, whatever the builder's own are
dir=$1 version=$2 soname=$3
revision=0upstream1 # comes before Debian's own
arch=$(dpkg --print-architecture)
who="${DEBFULLNAME:-Trotter authors} <${DEBEMAIL:-trotter@packages.debian.org}>"
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(stat -c %Y CHANGES.md)}"
mkdir -p out "$dir/debian"

# control PACKAGE SECTION DEPENDS SHORT: words of the long description on stdin
control() {
    cat >"$dir/$1/DEBIAN/control" <<END
Package: $1
Source: trotter
Version: $version-$revision
Architecture: $arch
Section: $2
Priority: optional
Maintainer: $who
Depends: $3
Installed-Size: $(du -sk --exclude=DEBIAN "$dir/$1" | cut -f1)
Description: $4
$(cat)
END
}

# needs FILE: the packages of the libraries of a program
needs() {
    (cd "$dir" && printf 'Source: trotter\n\nPackage: trotter\nArchitecture: any\n' >debian/control &&
        dpkg-shlibdeps -O -l"$PWD" "$1" 2>/dev/null | sed 's/^shlibs:Depends=//; s/libtrotter0[^,]*, //') |
        sed 's/libopenblas0\( ([^)]*)\)\{0,1\}/libopenblas0-openmp | libopenblas0/'
}

# begin PACKAGE PATH...: a package of these paths of DIR/all/usr, with its copyright and list of changes
begin() {
    root="$dir/$1"
    rm -rf "$root"
    doc="$root/usr/share/doc/$1"
    mkdir -p "$root/DEBIAN" "$doc"
    name=$1
    shift
    for path; do
        mkdir -p "$root/usr/$(dirname "$path")"
        cp -a "$dir/all/usr/$path" "$root/usr/$path"
    done
    cat >"$doc/copyright" <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: trotter

Files: *
Copyright: 2025-2026 The Trotter authors
License: GPL-3.0-or-later
 On Debian systems the text of the GNU General Public License, version 3,
 is in /usr/share/common-licenses/GPL-3. Any later version may be used too.
$(sed 's/^/Comment: /;1!s/^Comment: / /;s/^ *$/ ./' nn/kjv/copyright)
END
    printf 'trotter (%s-%s) unstable; urgency=medium\n\n  * Version %s; its changes are in changelog.gz.\n\n -- %s  %s\n' \
        "$version" "$revision" "$version" "$who" "$(date -R -u -d "@$SOURCE_DATE_EPOCH")" | gzip -9n >"$doc/changelog.Debian.gz"
    gzip -9nc CHANGES.md >"$doc/changelog.gz"
    find "$root/usr" -path '*/man/*' -type f -exec gzip -9n {} +
    find "$root" -type d -exec chmod 755 {} +
}

finish() {
    (cd "$dir/$1" && find usr -type f -exec md5sum {} + >DEBIAN/md5sums)
    dpkg-deb --root-owner-group --build "$dir/$1" "out/${1}_$version-${revision}_$arch.deb" >/dev/null
    echo "out/${1}_$version-${revision}_$arch.deb"
}

libdir=lib/$(basename "$(dirname "$(find "$dir/all/usr/lib" -name "$soname")")")
cp "$dir/trotter" "$dir/all/usr/bin/trotter"
cp "$dir/$soname" "$dir/all/usr/$libdir/$soname"
chmod 644 "$dir/all/usr/$libdir/$soname"
strip --remove-section=.comment --remove-section=.note "$dir/all/usr/bin/trotter"
strip --strip-unneeded --remove-section=.comment --remove-section=.note "$dir/all/usr/$libdir/$soname"

begin trotter bin share/bash-completion share/man/man1 share/man/man5
control trotter math "$(needs all/usr/bin/trotter)" "integrators as texts: exact order, stability, networks" <<END
 Trotter reads an integrator as a paper writes it, and tells its exact order,
 error terms and stability. It measures its order on particle systems, and
 trains language models whose layers are steps of it.
END
finish trotter

begin libtrotter0 "$libdir/$soname"
control libtrotter0 libs "$(needs "all/usr/$libdir/$soname")" "integrators as texts (library)" <<END
 Exact orders, error terms and stability of integrators, particle systems and
 trained models, for programs in C. This package has the shared library.
END
echo "libtrotter ${soname##*.} libtrotter0 (>= $version)" >"$dir/libtrotter0/DEBIAN/shlibs"
echo "activate-noawait ldconfig" >"$dir/libtrotter0/DEBIAN/triggers"
finish libtrotter0

begin libtrotter-dev include/trotter.h "$libdir/libtrotter.so" "$libdir/pkgconfig" share/man/man3
control libtrotter-dev libdevel "libtrotter0 (= $version-$revision)" "integrators as texts (development)" <<END
 Exact orders, error terms and stability of integrators, particle systems and
 trained models, for programs in C. This package has the header, the file for
 pkg-config and the man pages.
END
finish libtrotter-dev
