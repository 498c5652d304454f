#!/usr/bin/env bash
# Makes Debian's packages: schwann (the program), liblsl2 (the library) and liblsl-dev (what developers need).
#
#   release/deb.sh TARGET BUILT FOLDER VERSION PROGRAM      PROGRAM: a schwann that runs here, for its manual
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target="$1" built="$2" folder="$3" version="$4-1" program="$5"
case "$target" in
  x86_64-*) architecture=amd64 triplet=x86_64-linux-gnu ;;
  aarch64-*) architecture=arm64 triplet=aarch64-linux-gnu ;;
  armv7-*) architecture=armhf triplet=arm-linux-gnueabihf ;;
esac
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
umask 022
epoch=$(git log -1 --format=%ct)
# The address of the commit, which is the same wherever this runs.
maintainer="The Schwann developers <$(git log -1 --format=%ae)>"
homepage=$(git remote get-url origin 2> /dev/null | grep '^https://' || true)

main() {
  all="$stage/all" libraries="usr/lib/$triplet"
  DESTDIR="$all" ./install.sh --prefix /usr --libdir "/$libraries" --from "$built" > /dev/null
  rm -r "$all/usr/share/doc"
  mkdir -p "$all/usr/share/man/man1" "$all/usr/share/bash-completion/completions"
  "$program" man --into "$all/usr/share/man/man1" > /dev/null
  gzip -9n "$all"/usr/share/man/man1/*
  "$program" completions bash > "$all/usr/share/bash-completion/completions/schwann"

  chmod 644 "$all/$libraries"/liblsl.so.2.*
  move liblsl2 "$libraries/liblsl.so.2" "$(cd "$all" && echo "$libraries"/liblsl.so.2.*)"
  move liblsl-dev "$libraries" usr/include
  move schwann usr
  echo 'liblsl 2 liblsl2' > "$stage/shlibs"
  package liblsl2 libs 'libc6 (>= 2.17)' 'Lab Streaming Layer library, with encryption' 'Multi-Arch: same' \
    'Provides: liblsl' 'Conflicts: liblsl' 'Replaces: liblsl'
  package liblsl-dev libdevel "liblsl2 (= $version)" 'Lab Streaming Layer library (development files)' 'Multi-Arch: same'
  package schwann science "libc6 (>= 2.17), liblsl2 (= $version)" 'see, record, seal and check live streams of a lab'
}

# Moves paths of the whole tree into a package's tree.
move() {
  local path
  for path in "${@:2}"; do
    mkdir -p "$stage/$1/$(dirname "$path")"
    mv "$all/$path" "$stage/$1/$(dirname "$path")"
  done
}

package() { # NAME SECTION DEPENDS SUMMARY FIELDS...
  local tree="$stage/$1" documents="$stage/$1/usr/share/doc/$1"
  mkdir -p "$tree/DEBIAN" "$documents"
  copyright > "$documents/copyright"
  changelog | gzip -9n > "$documents/changelog.Debian.gz"
  if [ "$1" = liblsl2 ]; then
    cp "$stage/shlibs" "$tree/DEBIAN/shlibs"
    echo 'activate-noawait ldconfig' > "$tree/DEBIAN/triggers"
  fi
  (cd "$tree" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum > DEBIAN/md5sums)
  {
    printf '%s\n' "Package: $1" "Source: schwann" "Version: $version" "Architecture: $architecture" "Maintainer: $maintainer"
    printf '%s\n' "Installed-Size: $(du -sk --apparent-size "$tree/usr" | cut -f1)" "Section: $2" "Priority: optional" "Depends: $3" "${@:5}"
    [ -z "$homepage" ] || echo "Homepage: $homepage"
    printf '%s\n' "Description: $4" " Schwann carries EEG, EMG, gaze and markers live between the programs of a lab." \
      " It works with every program of the Lab Streaming Layer, and encrypts streams" " between computers that have keys of the same lab."
  } > "$tree/DEBIAN/control"
  find "$tree" -newermt "@$epoch" -exec touch -hd "@$epoch" {} +
  SOURCE_DATE_EPOCH=$epoch dpkg-deb --root-owner-group -Zxz --build "$tree" "$folder" > /dev/null
}

copyright() {
  printf '%s\n' 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/' 'Upstream-Name: schwann' '' \
    'Files: *' 'Copyright: 2025-2026 The Schwann developers' 'License: Expat or Apache-2.0' '' 'License: Expat'
  sed -n '/^Permission/,$p' LICENSE-MIT | sed 's/^$/./; s/^/ /'
  printf '%s\n' '' 'License: Apache-2.0' ' On Debian systems, the text is in /usr/share/common-licenses/Apache-2.0.'
}

changelog() {
  printf 'schwann (%s) unstable; urgency=medium\n\n  * Release %s.\n\n -- %s  %s\n' "$version" "${version%-1}" "$maintainer" \
    "$(LC_ALL=C date -u -R -d "@$epoch")"
}

main
