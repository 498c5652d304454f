#!/usr/bin/env bash
# Builds a CPython that stands on musl, as Alpine's does, from Debian's sources: no wheel brings one, and a wheel for Alpine must be
# tried.
#
#   release/musl_python.sh FOLDER      the interpreter is FOLDER/bin/python3
#
# Needs Debian 12 and its package musl-tools.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/sources.sh"
folder=$(realpath -m "${1:?a folder}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
debian_sources python3.11 zlib libffi

# The C library's own headers alone, and Linux's: Python's build looks for this system's besides. Its tables give warnings by the
# thousand.
cat > cc << 'END'
#!/bin/bash
words=()
for word in "$@"; do
  case $word in --print-multiarch) exit 0 ;; -I/usr/include/* | -I/usr/local/include | -L/usr/lib/* | -L/lib/*) ;; *) words+=("$word") ;; esac
done
exec musl-gcc -w "${words[@]}"
END
chmod +x cc
mkdir kernel
ln -s /usr/include/{linux,asm-generic} kernel
ln -s "/usr/include/$(uname -m)-linux-gnu/asm" kernel
export CC="$work/cc" CFLAGS="-O2 -fPIC -I$folder/include -isystem $work/kernel" LDFLAGS="-L$folder/lib" MAKEFLAGS=-j2
(cd zlib-*/ && ./configure --prefix="$folder" --static && make -s libz.a && make -s install)
(cd libffi-*/ && ./configure --host="$(uname -m)-linux-musl" --prefix="$folder" --disable-shared && make -s && make -s install)
cd Python-*/
./configure --prefix="$folder" --build="$(uname -m)-linux-musl" --with-ensurepip=install --disable-test-modules
make -s
make -s install
"$folder/bin/python3" -c 'import ctypes, socket, unicodedata, zlib'
