#!/usr/bin/env bash
# Builds the program and the libraries for one system, the same bytes wherever the checkout lies.
#
#   release/build.sh TARGET FOLDER      puts them into FOLDER
#
# Needs cargo-zigbuild with ziglang (both in release/requirements.txt), and for Windows mingw-w64.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target="$1" folder="$2"
mkdir -p "$folder"
# The oldest systems that are served: glibc 2.17 (2012), macOS 11.
export MACOSX_DEPLOYMENT_TARGET=11.0
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
cargo_home="${CARGO_HOME:-$HOME/.cargo}" sysroot=$(rustc --print sysroot)
export RUSTFLAGS="--remap-path-prefix=$PWD=/schwann --remap-path-prefix=$cargo_home=/cargo --remap-path-prefix=$sysroot=/rust"
programs=(-p schwann-cli) libraries=(-p schwann-capi -p schwann-fieldtrip-capi)

compile() { # COMMAND TARGET PACKAGES...
  cargo "$1" --locked --quiet --profile dist --target "$2" "${@:3}"
}

collect() { # FILES of the folder that Cargo built into
  cp "${@/#/${CARGO_TARGET_DIR:-target}/${target}/dist/}" "$folder"
}

case "$target" in
  *-windows-gnu)
    RUSTFLAGS+=" -Ctarget-feature=+crt-static -Clink-arg=-Wl,--no-insert-timestamp"
    compile build "$target" "${programs[@]}" "${libraries[@]}"
    collect schwann.exe lsl.dll fieldtripbuffer.dll
    # What MSVC links with.
    { echo "LIBRARY lsl.dll"; echo EXPORTS; grep -v '^#' capi/symbols.txt; } > "$folder/lsl.def"
    case "$target" in i686-*) machine=i386 ;; *) machine=i386:x86-64 ;; esac
    python3 -m ziglang dlltool -m "$machine" -d "$folder/lsl.def" -l "$folder/lsl.lib"
    rm "$folder/lsl.def"
    ;;
  *-apple-darwin)
    # What the keyring and the system's certificates need of Apple's frameworks; a name that is missing fails the link.
    RUSTFLAGS+=" -Clink-arg=-F$PWD/release/macos"
    # One by one: of several at once, cargo-zigbuild 0.24 joins the halves of different files.
    for package in schwann-cli schwann-capi schwann-fieldtrip-capi; do
      compile zigbuild "$target" -p "$package"
    done
    collect schwann liblsl.dylib libfieldtripbuffer.dylib
    ;;
  *-android)
    # Nothing but Google's NDK links for Android.
    tools="${ANDROID_NDK_HOME:?the folder of the Android NDK}/toolchains/llvm/prebuilt/linux-x86_64/bin"
    export CARGO_TARGET_AARCH64_LINUX_ANDROID_LINKER="$tools/aarch64-linux-android24-clang"
    compile build "$target" -p schwann-capi
    collect liblsl.so
    ;;
  *-musl)
    compile zigbuild "$target" "${programs[@]}"
    # A program for any Linux has the C library in it; a library has that of the program that loads it.
    RUSTFLAGS+=" -Ctarget-feature=-crt-static"
    compile zigbuild "$target" "${libraries[@]}"
    collect schwann liblsl.so libfieldtripbuffer.so
    ;;
  *)
    RUSTFLAGS+=" -Clink-arg=-Wl,--build-id=none"
    compile zigbuild "$target.2.17" "${programs[@]}" "${libraries[@]}"
    collect schwann liblsl.so libfieldtripbuffer.so
    ;;
esac
