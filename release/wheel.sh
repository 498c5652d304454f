#!/usr/bin/env bash
# Makes the wheel for one system: the module, the program on PATH, and the library for programs that use pylsl or mne-lsl.
#
#   release/wheel.sh TARGET BUILT FOLDER
#
# Needs maturin and ziglang (release/requirements.txt).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target="$1" built="$2" folder="$3"
# maturin packs the library, which is out of git's sight there; the program is put in afterwards (PyO3/maturin issue 368).
library=python/schwann/lib
rm -rf "$library"
mkdir -p "$library"
stage=$(mktemp -d)
trap 'rm -rf "$library" "$stage"' EXIT
find "$built" \( -name 'liblsl.*' -o -name lsl.dll \) -exec cp {} "$library" \;
source release/flags.sh
source release/names.sh
case "$target" in
  *-linux-gnu*) compatibility=(--zig --compatibility manylinux2014) ;;
  *-musl) compatibility=(--zig --compatibility musllinux_1_2) RUSTFLAGS+=" $loaded_with_musl" ;;
  *-apple-darwin) compatibility=(--zig) ;;
  *-windows-gnullvm)
    # With --zig, maturin 1.16 exports PyInit_schwann._schwann, which there is not.
    echo PyInit__schwann | definitions _schwann.pyd > "$stage/_schwann.def"
    printf '#!/bin/sh\nexec cargo-zigbuild zig cc -- -target aarch64-windows-gnu "$@" %s\n' "$stage/_schwann.def" > "$stage/zigcc"
    chmod +x "$stage/zigcc"
    export CARGO_TARGET_AARCH64_PC_WINDOWS_GNULLVM_LINKER="$stage/zigcc"
    compatibility=()
    ;;
  *) compatibility=() ;;
esac
maturin build --quiet --locked --profile dist --manifest-path python/Cargo.toml --target "$target" "${compatibility[@]}" --out "$stage"
wheel unpack --dest "$stage" "$stage"/*.whl > /dev/null
tree=$(find "$stage" -mindepth 1 -maxdepth 1 -type d)
mkdir -p "$tree/$(basename "$tree").data/scripts"
find "$built" \( -name schwann -o -name schwann.exe \) -exec install -m 755 {} "$tree/$(basename "$tree").data/scripts" \;
# maturin's bill of materials names this folder, this moment and a number by chance.
sed -i "s#$PWD#/schwann#g; /\"serialNumber\"/d; s/\(\"timestamp\": \"\)[^\"]*/\1$(date -u -d "@$SOURCE_DATE_EPOCH" +%FT%TZ)/" "$tree"/*.dist-info/sboms/*.json
wheel pack --dest-dir "$folder" "$tree" > /dev/null
