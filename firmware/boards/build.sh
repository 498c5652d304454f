#!/usr/bin/env bash
# Builds the ESP32-C3's two images, by cable and by Wi-Fi, and makes them flashable: target/boards/*.bin.
# About 3 minutes of processor time when nothing is built yet, 30 s later: too long for a check of every change.
# Flash one with `esptool --chip esp32c3 write-flash 0x10000 FILE` beside a bootloader of ESP-IDF, or both at once with
# `espflash flash ELF`. Usage: firmware/boards/build.sh [NETWORK [PASSWORD]]
set -euo pipefail
cd "$(dirname "$0")/../.."
target=riscv32imc-unknown-none-elf
rustup target list --installed | grep -qx "$target" || rustup target add "$target"
out="$PWD/target/boards"
mkdir -p "$out"
export CARGO_TARGET_DIR="$out/build" SCHWANN_WIFI_NAME="${1:-lab}"
[ $# -lt 2 ] || export SCHWANN_WIFI_PASSWORD="$2"
if [ ! -x "$out/venv/bin/esptool" ]; then
  python3 -m venv "$out/venv"
  "$out/venv/bin/pip" install --quiet esptool==5.1.0
fi

# name, what else the image has
image() {
  cargo build --locked --release --target "$target" --manifest-path firmware/boards/esp32c3/Cargo.toml "${@:2}"
  cp "$CARGO_TARGET_DIR/$target/release/schwann-esp32c3" "$out/$1.elf"
  "$out/venv/bin/esptool" --chip esp32c3 elf2image --flash-mode dio --flash-size 4MB -o "$out/$1.bin" "$out/$1.elf"
  "$out/venv/bin/esptool" image-info "$out/$1.bin" | tee "$out/$1.txt"
  [ "$(grep -c '(valid)' "$out/$1.txt")" = 2 ] || { echo "$1.bin: its checksums are wrong" >&2; exit 1; }
}
image esp32c3-wired
# Nothing of the cable's image may ask for memory while it runs.
if python3 -c 'import sys; sys.exit(b"__rust_alloc" not in open(sys.argv[1], "rb").read())' "$out/esp32c3-wired.elf"; then
  echo "the cable's image has a heap" >&2
  exit 1
fi
image esp32c3-wifi --features wifi
