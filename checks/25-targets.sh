# Every system that people use: the crates that belong there compile, and warn of nothing. The program's own code differs by system,
# by the width of a pointer, and without the relay. One target of each is enough for a day's work, and that of Windows is built for
# Wine. The libraries compile for all. With SCHWANN_TARGETS=all the program compiles wherever it is released.
# cores: 2
# target: x86_64-pc-windows-msvc i686-pc-windows-gnu aarch64-pc-windows-gnullvm
# target: x86_64-apple-darwin aarch64-apple-darwin aarch64-apple-ios aarch64-linux-android
# target: aarch64-unknown-linux-gnu armv7-unknown-linux-gnueabihf x86_64-unknown-linux-musl wasm32-unknown-unknown
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
# Warnings are errors. Flags count for targets alone, so what runs here while they compile is shared with the other checks.
export RUSTFLAGS="${RUSTFLAGS--D warnings}"
# Nothing is linked, so the C of a dependency (ring) needs no compiler of each system: this one makes empty files. For Windows on ARM
# ring asks for clang by name.
stub="$SCHWANN_STATE/empty-compiler"
mkdir -p "$stub"
export PATH="$stub:$PATH" TARGET_CC="$stub/clang" TARGET_AR="$stub/clang"
cat > "$TARGET_CC" << 'END'
#!/bin/sh
echo clang
while [ $# -gt 0 ]; do
  case $1 in
    -o) shift; : > "$1" ;;
    -Fo*) : > "${1#-Fo}" ;;
    *.a | *.lib) : > "${1#-out:}" ;;
  esac
  shift
done
END
chmod +x "$TARGET_CC"
library=(-p schwann-capi -p schwann-fieldtrip-capi)
program=(-p schwann-cli "${library[@]}")
phone=(-p schwann-capi)
# The program as it is without the relay, and the relay's crate beside it.
narrow=(-p schwann-cli -p schwann-hub "${library[@]}" --no-default-features)
script=(-p schwann-proto -p schwann-xdf -p schwann-session)

# The crates of the first argument, a list's name, compile for the others.
compile() {
  local -n crates=$1
  local target targets=()
  for target in "${@:2}"; do
    targets+=(--target "$target")
    rustup target list --installed 2> /dev/null | grep -qx "$target" ||
      { echo "the Rust target $target is not installed and cannot be had here"; exit 77; }
  done
  # All in one call, so that no processor waits for the last crate of a target.
  cargo check --locked --quiet "${crates[@]}" "${targets[@]}" || exit 1
  echo "${*:2}: ${crates[*]}"
}

systems=(x86_64-pc-windows-msvc i686-pc-windows-gnu aarch64-pc-windows-gnullvm x86_64-apple-darwin aarch64-unknown-linux-gnu
  x86_64-unknown-linux-musl)
if [ "${SCHWANN_TARGETS:-}" = all ]; then
  compile program aarch64-apple-darwin armv7-unknown-linux-gnueabihf "${systems[@]}"
else
  compile program aarch64-apple-darwin
  compile library "${systems[@]}"
fi
compile narrow armv7-unknown-linux-gnueabihf
compile phone aarch64-apple-ios aarch64-linux-android
compile script wasm32-unknown-unknown
