#!/usr/bin/env bash
# Makes RPM's packages: schwann, liblsl2 and liblsl-devel.
#
#   release/rpm.sh TARGET BUILT FOLDER VERSION PROGRAM      PROGRAM: a schwann that runs here, for its manual
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
machine="${1%%-*}" built="$2" folder="$3" version="$4" program="$5"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
umask 022
libraries=/usr/lib64
case "$machine" in armv7) machine=armv7hl libraries=/usr/lib ;; esac
DESTDIR="$stage/tree" ./install.sh --prefix /usr --libdir $libraries --from "$built" > /dev/null
mkdir -p "$stage/tree/usr/share/man/man1"
"$program" man --into "$stage/tree/usr/share/man/man1" > /dev/null
gzip -9n "$stage"/tree/usr/share/man/man1/*
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) rpmbuild -bb --quiet --target "$machine-linux" \
  --define "_topdir $stage/build" --define "_rpmdir $folder" --define "tree $stage/tree" --define "release_version $version" \
  --define "libraries $libraries" --define '_rpmfilename %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm' release/schwann.spec
