# shellcheck shell=bash
# How all that is released for $target is compiled: the same bytes wherever the checkout and Cargo's folder lie. Sourced.

# The oldest macOS that is served. The oldest glibc, 2.17 of 2012, is an argument of zig and of maturin.
export MACOSX_DEPLOYMENT_TARGET=11.0
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
cargo_home="${CARGO_HOME:-$HOME/.cargo}" sysroot=$(rustc --print sysroot)
export RUSTFLAGS="--remap-path-prefix=$PWD=/schwann --remap-path-prefix=$cargo_home=/cargo --remap-path-prefix=$sysroot=/rust"
case "$target" in
  *-windows-gnu) RUSTFLAGS+=" -Ctarget-feature=+crt-static -Clink-arg=-Wl,--no-insert-timestamp" ;;
  # What the keyring and the system's certificates need of Apple's frameworks; a name that is missing fails the link.
  # In two words: from one, cargo-zigbuild 0.24 takes an absolute folder alone, and that would be in what it makes.
  *-apple-darwin) RUSTFLAGS+=" -Clink-arg=-F -Clink-arg=release/macos" ;;
  *-linux-gnu*) RUSTFLAGS+=" -Clink-arg=-Wl,--build-id=none" ;;
esac
# A program for any Linux has the C library in it; a library has that of the program that loads it.
loaded_with_musl="-Ctarget-feature=-crt-static"
