#!/usr/bin/env bash
# Makes what a library for Android is linked with, beside Rust's own: the unwinder, and stand-ins for the system's libraries.
#
#   release/android.sh FOLDER      puts libunwind.a, libc.so and their like into FOLDER
#
# A stand-in has the names of release/android/names.txt and no code: a name that is missing there fails the link. zig has the
# sources of the unwinder.
set -euo pipefail
source release/names.sh
folder="$1" system=(-target aarch64-linux-musl -fPIC -g0)
mkdir -p "$folder"
zig=$(python3 -c 'import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).parent)')
unwinder="$zig/lib/libunwind"

objects=()
for source in libunwind.cpp UnwindLevel1.c UnwindLevel1-gcc-ext.c UnwindRegistersSave.S UnwindRegistersRestore.S; do
  # Hidden, so that it is not mixed with that of another library. Android has another name for the place of errno.
  case "$source" in *.cpp) language=(c++ -std=c++17 -fno-exceptions -fno-rtti -nostdinc++) ;; *) language=(cc) ;; esac
  python3 -m ziglang "${language[@]}" "${system[@]}" -c -O2 -DNDEBUG -D_LIBUNWIND_IS_NATIVE_ONLY -D_LIBUNWIND_HIDE_SYMBOLS \
    -D__errno_location=__errno -fvisibility=hidden -funwind-tables -I"$unwinder/include" -o "$folder/$source.o" "$unwinder/src/$source"
  objects+=("$folder/$source.o")
done
rm -f "$folder/libunwind.a"
python3 -m ziglang ar rcsD "$folder/libunwind.a" "${objects[@]}"

for library in libc.so libdl.so liblog.so libm.so; do
  sed -n "s/^$library //p" release/android/names.txt | tr ' ' '\n' | stand_in > "$folder/$library.s"
  python3 -m ziglang cc "${system[@]}" -nostdlib -shared "-Wl,-soname,$library" -o "$folder/$library" "$folder/$library.s"
done
