#!/usr/bin/env bash
# Makes a release: every package for every system, in target/release-VERSION, from a clean tree.
#
#   ./release.sh VERSION [TARGET...]     the targets below, or only those named
#
# The same commit makes the same bytes; release/try.sh installs and runs them. RELEASING.md says what comes before and after.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
targets=(x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu armv7-unknown-linux-gnueabihf x86_64-unknown-linux-musl
  x86_64-pc-windows-gnu i686-pc-windows-gnu aarch64-pc-windows-gnullvm universal2-apple-darwin aarch64-linux-android)

main() {
  [ $# -gt 0 ] || fail "which version? ./release.sh VERSION"
  version="$1"
  [ $# -eq 1 ] || targets=("${@:2}")
  check
  tools
  folder="$PWD/target/release-$version" built="$PWD/target/release-build"
  rm -rf "$folder" "$built"
  mkdir -p "$folder"
  for target in "${targets[@]}"; do
    echo "== $target"
    release/build.sh "$target" "$built/$target"
    pack "$target"
    inspect "$target"
  done
  crates
  python3 release/unity.py "$built" "$folder" "$version" "$(git log -1 --format=%ct)"
  python3 release/finish.py "$folder" "$version"
  echo "the release is in $folder"
}

fail() {
  echo "release.sh: $1" >&2
  exit 2
}

check() {
  [ -z "$(git status --porcelain)" ] || fail "the tree has changes that are not committed: git status"
  grep -qx "version = \"$version\"" Cargo.toml || fail "Cargo.toml has another version than $version"
  grep -q "^## \[$version\]" CHANGELOG.md || fail "CHANGELOG.md has no section [$version]: give the top section the version and the date"
  local program
  for program in dpkg-deb rpmbuild wixl msibuild zip {x86_64,i686}-w64-mingw32-gcc; do
    command -v "$program" > /dev/null || fail "needs $program: apt-get install dpkg rpm wixl msitools zip gcc-mingw-w64-x86-64 gcc-mingw-w64-i686"
  done
  rustup --quiet target add "${targets[@]/universal2-/aarch64-}" x86_64-apple-darwin || fail "rustup cannot add ${targets[*]}"
}

# What builds packages is installed below target/, in the versions that release/requirements.txt names.
tools() {
  local venv="$PWD/target/release-tools"
  [ -d "$venv" ] || python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r release/requirements.txt
  export PATH="$venv/bin:$PATH"
}

# Packages for the registry of Rust; each is built from what it holds.
crates() {
  echo "== crates"
  # Cargo keeps what it unpacked by the folder's name, so that in a folder of the same name it would check with older sources.
  local built_crates
  built_crates="$built/crates-$(git rev-parse HEAD)"
  cargo package --quiet --locked --workspace --exclude schwann-bench --exclude schwann-python --target-dir "$built_crates"
  cp "$built_crates/package/"*.crate "$folder"
}

inspect() {
  case "$1" in
    *-darwin) python3 release/inspect_macos.py "$built/$1" "$folder" ;;
    *-windows-*) python3 release/inspect_windows.py "$1" "$built/$1" "$folder" ;;
    *-android) python3 release/inspect_android.py "$built/$1" ;;
  esac
}

pack() {
  local here
  # Its library is for the package for Unity alone.
  [[ $1 != *-android ]] || return 0
  here="$built/$(rustc -vV | sed -n 's/^host: //p')/schwann"
  release/archive.sh "$1" "$built/$1" "$folder" "$version"
  release/wheel.sh "$1" "$built/$1" "$folder"
  case "$1" in
    *-linux-gnu*)
      [ -x "$here" ] || fail "the manual needs a schwann for this system: name its target first"
      release/deb.sh "$1" "$built/$1" "$folder" "$version" "$here"
      release/rpm.sh "$1" "$built/$1" "$folder" "$version" "$here"
      ;;
    *-windows-*) release/msi.sh "$1" "$built/$1" "$folder" "$version" ;;
  esac
}

main "$@"
