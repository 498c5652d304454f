#!/usr/bin/env bash
# Installs the library, its headers for C and C++, its CMake package and pkg-config file, and the program schwann.
#
#   cargo build --release -p schwann-capi -p schwann-cli
#   sudo ./install.sh && sudo ldconfig        below /usr/local, for all programs of the computer
#   ./install.sh --prefix DIR                 below DIR
#   ./install.sh --prefix DIR --uninstall     takes out what the same options installed
#
#   --libdir DIR       where libraries go (PREFIX/lib)
#   --includedir DIR   where headers go (PREFIX/include)
#   --from DIR         where Cargo built them (target/release)
#   DESTDIR=DIR        puts the whole tree below DIR, for packagers
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

main() {
  read_options "$@"
  name_files
  if [ "$act" = install ]; then
    for file in "$built" schwann; do
      [ -f "$from/$file" ] || fail "$from/$file is not built: cargo build --release -p schwann-capi -p schwann-cli"
    done
  fi
  # Other users read what root installs, whatever root's mask is.
  umask 022
  tree
  [ "$act" = remove ] || echo "installed liblsl $version (Schwann) below $DESTDIR$prefix"
}

fail() {
  echo "install.sh: $1" >&2
  exit 2
}

read_options() {
  prefix=/usr/local libdir='' includedir='' from="$root/target/release" act=install
  while [ $# -gt 0 ]; do
    case "$1" in
      --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" ;;
    esac
    case "$1" in
      --prefix | --libdir | --includedir | --from)
        [ -n "${2:-}" ] || fail "$1 needs a folder"
        # What is installed names its folders, so they begin at the root.
        case "$2" in
          *[\|\&\\]*) fail "a folder's name must not have |, & or a backslash: $2" ;;
          /*) folder="${2%/}" ;;
          *) folder="$PWD/${2%/}" ;;
        esac
        printf -v "${1#--}" '%s' "$folder"
        shift
        ;;
      --uninstall) act=remove ;;
      -h | --help) sed -n '2,/^set /{/^set /d; s/^# \{0,1\}//; p}' "${BASH_SOURCE[0]}"; exit ;;
      *) fail "$1 is no option; ./install.sh --help lists them" ;;
    esac
    shift
  done
  : "${libdir:=$prefix/lib}" "${includedir:=$prefix/include}" "${DESTDIR:=}"
}

# The version is that of the interface, as programs and packages that ask for liblsl count it.
name_files() {
  local number
  number="$(sed -n 's/^#define LIBLSL_COMPILE_HEADER_VERSION //p' "$root/capi/include/lsl/common.h")"
  version="$((number / 100)).$((number % 100)).0"
  local system
  system="$(uname -s)"
  # A package may be made on another system.
  [ ! -f "$from/liblsl.dylib" ] || system=Darwin
  case "$system" in
    Darwin) built=liblsl.dylib soname=liblsl.2.dylib library="liblsl.2.$number.0.dylib" ;;
    *) built=liblsl.so soname=liblsl.so.2 library="liblsl.so.2.$number.0" ;;
  esac
}

# All that there is. `act` says what happens to each file, link and folder.
tree() {
  local header license
  "${act}_file" 755 "$from/$built" "$libdir/$library"
  "${act}_link" "$library" "$libdir/$soname"
  "${act}_link" "$soname" "$libdir/$built"
  "${act}_file" 755 "$from/schwann" "$prefix/bin/schwann"
  while read -r header; do
    "${act}_file" 644 "$root/capi/include/$header" "$includedir/$header"
  done < <(cd "$root/capi/include" && find . -name '*.h' | sed 's,^\./,,')
  "${act}_template" lsl.pc "$libdir/pkgconfig/lsl.pc"
  "${act}_template" LSLConfig.cmake "$libdir/cmake/LSL/LSLConfig.cmake"
  "${act}_template" LSLConfigVersion.cmake "$libdir/cmake/LSL/LSLConfigVersion.cmake"
  "${act}_file" 644 "$root/capi/package/LSLCMake.cmake" "$libdir/cmake/LSL/LSLCMake.cmake"
  for license in LICENSE-MIT LICENSE-APACHE; do
    "${act}_file" 644 "$root/$license" "$prefix/share/doc/schwann/$license"
  done
  "${act}_own_folders" "$includedir/lsl/cpp" "$includedir/lsl" "$libdir/cmake/LSL" "$prefix/share/doc/schwann"
}

install_file() {
  mkdir -p "$DESTDIR$(dirname "$3")"
  # A new file in place of the old one: programs that run keep the old one.
  rm -f "$DESTDIR$3"
  install -m "$1" "$2" "$DESTDIR$3"
}

install_link() { ln -sf "$1" "$DESTDIR$2"; }

install_template() {
  mkdir -p "$DESTDIR$(dirname "$2")"
  sed -e "s|@PREFIX@|$prefix|; s|@LIBDIR@|$libdir|; s|@INCLUDEDIR@|$includedir|; s|@VERSION@|$version|" \
    -e "s|@LIBRARY@|$library|; s|@SONAME@|$soname|; s|@INCLUDEDIR_FROM_LIBDIR@|$(includedir_from_libdir)|" \
    "$root/capi/package/$1.in" > "$DESTDIR$2"
  chmod 644 "$DESTDIR$2"
}

# Relative where both are below the prefix, so that the tree may be moved.
includedir_from_libdir() {
  case "$libdir:$includedir" in
    "$prefix"/*:"$prefix"/*) echo "$(sed 's,[^/][^/]*,..,g' <<< "${libdir#"$prefix"/}")/${includedir#"$prefix"/}" ;;
    *) echo "$includedir" ;;
  esac
}

install_own_folders() { :; }

remove_file() { rm -f "$DESTDIR$3"; }
remove_link() { rm -f "$DESTDIR$2"; }
remove_template() { rm -f "$DESTDIR$2"; }

remove_own_folders() {
  local folder
  for folder in "$@"; do
    rmdir "$DESTDIR$folder" 2> /dev/null || [ ! -d "$DESTDIR$folder" ] || echo "$DESTDIR$folder stays: it holds other files"
  done
}

main "$@"
