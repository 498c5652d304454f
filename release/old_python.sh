#!/usr/bin/env bash
# Builds a CPython 3.11 in a system of Debian whose own is older than the package's oldest, from the sources of Debian 12.
#
#   release/old_python.sh ROOT      the interpreter is ROOT/usr/local/bin/python3
#
# Needs root and Debian 12.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/sources.sh"
root=$(realpath "${1:?the folder of a system}")
work="$root/tmp/python"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"
cd "$work"
debian_sources python3.11
cp /etc/resolv.conf "$root/etc"
chroot "$root" sh -ec 'export DEBIAN_FRONTEND=noninteractive
  apt-get -qq update
  apt-get -qq install -y --no-install-recommends gcc make libc6-dev zlib1g-dev libffi-dev libssl-dev
  cd /tmp/python/Python-*/
  ./configure --with-ensurepip=install --disable-test-modules
  make -s -j2
  make -s install
  /usr/local/bin/python3 -c "import ctypes, socket, ssl, unicodedata, zlib"'
