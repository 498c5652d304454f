#!/usr/bin/env bash
# Packs what was built for one system: a tree for below /usr/local, or a folder for Windows.
#
#   release/archive.sh TARGET BUILT FOLDER VERSION
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target="$1" built="$2" folder=$(realpath "$3") name="schwann-$4-$1"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
epoch=$(git log -1 --format=%ct)
case "$target" in
  *-windows-*)
    mkdir "$stage/$name"
    cp "$built"/{schwann.exe,lsl.dll,lsl.lib,fieldtripbuffer.dll} LICENSE-MIT LICENSE-APACHE "$stage/$name"
    cp -r capi/include "$stage/$name"
    find "$stage" -exec touch -d "@$epoch" {} +
    (cd "$stage" && find "$name" -type f | LC_ALL=C sort | TZ=UTC zip -q -X "$folder/$name.zip" -@)
    ;;
  *)
    DESTDIR="$stage" ./install.sh --prefix /usr/local --from "$built" > /dev/null
    mv "$stage/usr/local" "$stage/$name"
    find "$built" -name '*fieldtripbuffer.*' -exec install -m 755 {} "$stage/$name/lib" \;
    tar -C "$stage" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$epoch" -c "$name" | gzip -9n > "$folder/$name.tar.gz"
    ;;
esac
