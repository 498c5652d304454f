#!/usr/bin/env bash
# Makes the installer for Windows: program and libraries below Program Files, and the folder on PATH.
#
#   release/msi.sh TARGET BUILT FOLDER VERSION
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
case "$1" in x86_64-*) architecture=x64 ;; i686-*) architecture=x86 ;; esac
wixl --arch "$architecture" -D "version=$4" -D "built=$2" -o "$3/schwann-$4-$1.msi" release/schwann.wxs
