#!/usr/bin/env bash
# Builds the program and the libraries for one system, the same bytes wherever the checkout lies.
#
#   release/build.sh TARGET FOLDER      puts them into FOLDER
#
# Needs cargo-zigbuild with ziglang (both in release/requirements.txt), and for Windows on Intel's processors mingw-w64.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target="$1" folder="$2"
mkdir -p "$folder"
source release/flags.sh
source release/names.sh
programs=(-p schwann-cli) libraries=(-p schwann-capi -p schwann-fieldtrip-capi)

compile() { # COMMAND TARGET PACKAGES...
  cargo "$1" --locked --quiet --profile dist --target "$2" "${@:3}"
}

# Relative: Cargo and the linkers put what they are told into what they make.
cargo_target="${CARGO_TARGET_DIR:-target}"

collect() { # FILES of the folder that Cargo built into
  cp "${@/#/$cargo_target/$target/dist/}" "$folder"
}

exporting() { # LIBRARY PACKAGE...
  cargo-zigbuild rustc --locked --quiet --profile dist --target "$target" "${@:2}" -- "-Clink-arg=$cargo_target/$1.def"
}

case "$target" in
  *-windows-*)
    mkdir -p "$cargo_target"
    grep -v '^#' capi/symbols.txt | definitions lsl.dll > "$cargo_target/lsl.dll.def"
    grep -oE '\bschwann_ft_\w+\(' capi/fieldtrip/include/schwann_fieldtrip.h | tr -d '(' | definitions fieldtripbuffer.dll \
      > "$cargo_target/fieldtripbuffer.dll.def"
    case "$target" in
      aarch64-*)
        machine=arm64
        compile zigbuild "$target" "${programs[@]}"
        # By themselves, zig and cargo-zigbuild 0.24 export every function there is.
        exporting lsl.dll -p schwann-capi
        exporting fieldtripbuffer.dll -p schwann-fieldtrip-capi
        ;;
      *)
        case "$target" in i686-*) machine=i386 ;; *) machine=i386:x86-64 ;; esac
        compile build "$target" "${programs[@]}" "${libraries[@]}"
        ;;
    esac
    collect schwann.exe lsl.dll fieldtripbuffer.dll
    # What MSVC links with.
    python3 -m ziglang dlltool -m "$machine" -d "$cargo_target/lsl.dll.def" -l "$folder/lsl.lib"
    ;;
  *-apple-darwin)
    # One by one: of several at once, cargo-zigbuild 0.24 joins the halves of different files.
    for package in schwann-cli schwann-capi schwann-fieldtrip-capi; do
      compile zigbuild "$target" -p "$package"
    done
    collect schwann liblsl.dylib libfieldtripbuffer.dylib
    ;;
  *-android)
    # Rust's own linker, which needs to be told what Google's tools know.
    release/android.sh "$cargo_target/android"
    export CARGO_TARGET_AARCH64_LINUX_ANDROID_LINKER=rust-lld
    RUSTFLAGS+=" -Clinker-flavor=ld.lld -L $cargo_target/android -Clink-arg=--eh-frame-hdr -Clink-arg=--hash-style=both"
    # Pages of 16 KiB, which Android 15 may have.
    RUSTFLAGS+=" -Clink-arg=-zmax-page-size=16384 -Clink-arg=-soname=liblsl.so -Clink-arg=--build-id=none -Clink-arg=-zdefs"
    compile build "$target" -p schwann-capi
    collect liblsl.so
    ;;
  *-musl)
    compile zigbuild "$target" "${programs[@]}"
    RUSTFLAGS+=" $loaded_with_musl"
    compile zigbuild "$target" "${libraries[@]}"
    collect schwann liblsl.so libfieldtripbuffer.so
    ;;
  *)
    compile zigbuild "$target.2.17" "${programs[@]}" "${libraries[@]}"
    collect schwann liblsl.so libfieldtripbuffer.so
    ;;
esac
