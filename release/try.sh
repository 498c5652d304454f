#!/usr/bin/env bash
# Tries a release where people will install it: in clean systems of Debian, with each one's Python, in a root with nothing else in
# it, and in a Windows under Wine. Says "passed" or "FAILED" for each.
#
#   release/try.sh FOLDER [SYSTEM...]
#
# FOLDER: as ./release.sh made it. SYSTEM: a suite of Debian, or SUITE-ARCHITECTURE for another machine's under QEMU.
# PYTHONS: further interpreters of this computer that the wheel is tried with.
# On Debian 12 a system of Debian 11 gets a newer Python than its own.
# Needs root, debootstrap, rpm, wine, mingw-w64, gcc-aarch64-linux-gnu and qemu-user-static; on Debian 12 musl-tools, too.
# Clean systems are made once, in target/release-roots.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source release/names.sh
packages=$(realpath "${1:?the folder of a release}") roots="$PWD/target/release-roots"
systems=("${@:2}")
[ ${#systems[@]} -gt 0 ] || systems=(bullseye bookworm trixie sid bookworm-arm64 bookworm-armhf)
export SCHWANN_KEYS=/root/keys LC_ALL=C.UTF-8
failures=0
own_module='import schwann
with schwann.Outlet("Own", channels=2, rate=100.0, source_id="own") as outlet, outlet.info.open(timeout=20) as stream:
    outlet.push([1.0, 2.0])
    assert stream.pull(1, 20).data.tolist() == [[1.0, 2.0]]'
# Arguments: the installer, and bcryptprimitives.dll. The uninstaller may leave nothing, not even the folder on PATH.
# shellcheck disable=SC2016 # expanded where it runs
in_windows='export WINEDEBUG=-all
  mkdir -p "$WINEPREFIX"
  wineserver --persistent
  trap "wineserver --kill || true" EXIT
  wineboot 2> /dev/null
  wine reg add "HKLM\\SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion" /v CurrentBuildNumber /d 19045 /f > /dev/null
  cp "$2" "$WINEPREFIX/drive_c/windows/system32"
  cp "$1" "$WINEPREFIX/drive_c/schwann.msi"
  wine msiexec /i "C:\\schwann.msi" /qn
  wine cmd /c "schwann demo --seconds 3 --no-dash -o C:\\demo.xdf"
  wine cmd /c "schwann verify C:\\demo.xdf"
  wine msiexec /x "C:\\schwann.msi" /qn
  wineserver --kill
  if find "$WINEPREFIX"/drive_c/Program\ Files* -iname "*schwann*" | grep .; then exit 1; fi
  if grep -i "PATH.*schwann" "$WINEPREFIX/system.reg"; then exit 1; fi
  echo "installed, on PATH, ran, removed, nothing left"'
mkdir -p "$roots"

main() {
  local system
  attempt empty "the static program in a root with nothing else" static_program
  for system in "${systems[@]}"; do
    system "$system" || continue
    architecture="$(architecture "$system")"
    case "$architecture" in amd64) machine=x86_64 ;; arm64) machine=aarch64 ;; armhf) machine=armv7l ;; esac
    attempt "$system" "deb" deb
    attempt "$system" "wheel" wheel
  done
  [ ! -d "$roots/bookworm" ] || attempt bookworm "rpm" rpm_packages
  for python in ${PYTHONS:-}; do attempt empty "wheel with $($python -V)" python_here; done
  attempt empty "the wheel by uvx" by_uvx
  attempt empty "wheel with a Python on musl" musl_wheel
  attempt empty "the library for Android on glibc" android
  attempt empty "msi" msi
  system bookworm-i386 && attempt bookworm-i386 "msi of 32 bits" msi_of_32_bits
  echo "$failures failed"
  [ "$failures" = 0 ]
}

architecture() {
  case "$1" in *-*) echo "${1##*-}" ;; *) echo amd64 ;; esac
}

# Makes a clean system of Debian.
system() {
  [ ! -d "$roots/$1" ] || return 0
  mkdir -p "$roots/empty"
  local programs=python3-venv,ca-certificates
  [ "$(architecture "$1")" != i386 ] || programs=wine,wine32
  {
    debootstrap --variant=minbase --include="$programs" --arch="$(architecture "$1")" "${1%-*}" "$roots/$1.new" &&
      { ! needs_python "$1" || release/old_python.sh "$roots/$1.new"; } && mv "$roots/$1.new" "$roots/$1"
  } > "$roots/$1.log" 2>&1 && return
  echo "FAILED $1: it could not be made (its log: $roots/$1.log)"
  failures=$((failures + 1))
  return 1
}

# Whether a system gets a newer Python than its own, which is built from the sources of Debian 12.
needs_python() { [ "$1" = bullseye ] && grep -q bookworm /etc/os-release; }

# Runs a function with a copy of a system in $root; what it changes is in $changes.
attempt() { # SYSTEM WHAT FUNCTION
  local scratch log="$roots/$1-$3.log"
  scratch=$(mktemp -d)
  mkdir -p "$roots/empty" "$scratch"/{changes,work,root}
  mount -t overlay overlay -o "lowerdir=$roots/$1,upperdir=$scratch/changes,workdir=$scratch/work" "$scratch/root"
  root="$scratch/root" changes="$scratch/changes"
  mkdir -p "$root"/{proc,tmp,root,dev}
  mount -t proc proc "$root/proc"
  mount --bind /dev "$root/dev"
  # Not within `if`, where the shell would go on after a command that failed.
  local code
  set +e
  (set -e; "$3") > "$log" 2>&1
  code=$?
  set -e
  if [ "$code" = 0 ]; then
    echo "passed $1: $2: $(tail -n 1 "$log")"
  else
    echo "FAILED $1: $2 (its log: $log)"
    failures=$((failures + 1))
  fi
  umount "$root/dev" "$root/proc" "$root"
  rm -rf "$scratch"
}

# Runs a program inside, in a network of its own.
inside() { within chroot "$root" "$@"; }

# Runs a program in a network of its own.
within() {
  # shellcheck disable=SC2016 # expanded inside
  unshare --net --pid --fork --kill-child bash -c 'ip link set lo up && ip link set lo multicast on
    ip link add eth0 type veth peer name far && ip addr add 10.77.0.1/24 dev eth0
    ip link set eth0 up && ip link set far up && ip route add default dev eth0
    exec timeout 300 "$@"' within "$@"
}

demo() {
  inside "$@" demo --seconds 3 --no-dash -o /tmp/demo.xdf
  inside "$@" verify /tmp/demo.xdf
}

# Fails if files of ours are left, apart from those that a person made.
nothing_left() {
  local left
  left=$(cd "$changes" && find . -not -path './tmp/*' -not -path './root/*' -not -type c \( -iname '*schwann*' -o -iname '*liblsl*' -o -iname 'lsl*' \) -print)
  [ -z "$left" ] || { echo "left behind: $left"; return 1; }
  echo "installed, ran, removed, nothing left"
}

static_program() {
  tar -xzf "$packages"/schwann-*-x86_64-unknown-linux-musl.tar.gz -C "$root" --strip-components=1
  demo /bin/schwann
  echo "the demo ran and its recording is whole"
}

deb() {
  cp "$packages"/{schwann,liblsl2,liblsl-dev}_*_"$architecture".deb "$root/tmp"
  chroot "$root" sh -c 'dpkg -i /tmp/*.deb'
  demo schwann
  chroot "$root" dpkg --purge schwann liblsl-dev liblsl2
  rm -f "$changes"/var/lib/dpkg/info/*lsl* "$changes/var/log/dpkg.log"
  nothing_left
}

wheel() {
  local version
  version=$(chroot "$root" python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  dpkg --compare-versions "$version" ge 3.10 || { echo "left out: its Python is $version, and the package begins with 3.10"; return 0; }
  # There is no numpy of armv7l to be had as a wheel.
  [ "$machine" != armv7l ] || { echo "left out: numpy has no wheel for $machine"; return 0; }
  download "$version" "$root/tmp/wheels"
  cp tests/tools/round_trip.py "$root/tmp"
  cp "$packages"/schwann-*manylinux_2_17_"$machine".whl "$root/tmp/wheels"
  chroot "$root" sh -c 'python3 -m venv /venv && /venv/bin/pip install --no-index --find-links /tmp/wheels schwann pylsl'
  demo /venv/bin/schwann
  inside /venv/bin/schwann run -- /venv/bin/python /tmp/round_trip.py | tee "$root/tmp/library"
  grep -q Schwann "$root/tmp/library"
  inside /venv/bin/python -c "$own_module"
  chroot "$root" /venv/bin/pip uninstall --yes schwann pylsl
  nothing_left
  echo "CPython $version: demo, pylsl unchanged, the module; uninstalled, nothing left"
}

python_here() { wheel_here "$packages"/schwann-*manylinux_2_17_x86_64.whl pylsl; }

# The wheel for Alpine. A Python without TLS fetches nothing itself, and musl 1.2.3 cannot load numpy 2.4.
musl_wheel() {
  python="$roots/musl/bin/python3"
  if [ ! -x "$python" ]; then
    grep -q bookworm /etc/os-release || { echo "left out: its Python is made from the sources of Debian 12"; return 0; }
    release/musl_python.sh "$roots/musl"
  fi
  python3 -m pip download --quiet --only-binary :all: --python-version 3.11 --platform musllinux_1_1_x86_64 \
    --platform musllinux_1_2_x86_64 --dest "$root/wheels" numpy==1.26.4 pylsl
  cp "$packages"/schwann-*musllinux*.whl "$root/wheels"
  wheel_here --no-index --find-links "$root/wheels" schwann pylsl
}

# A wheel with an interpreter of this computer, in an environment of its own. WORDS: for `pip install`.
wheel_here() { # WORDS
  "$python" -m venv "$root/venv"
  find "$root/venv" | sort > "$root/before"
  "$root/venv/bin/pip" install --quiet "$@"
  HOME="$root" within "$root/venv/bin/schwann" demo --seconds 3 --no-dash -o "$root/demo.xdf"
  HOME="$root" within "$root/venv/bin/schwann" run -- "$root/venv/bin/python" tests/tools/round_trip.py | tee "$root/library"
  grep -q Schwann "$root/library"
  HOME="$root" within "$root/venv/bin/python" -c "$own_module"
  "$root/venv/bin/pip" uninstall --quiet --yes schwann pylsl numpy
  # Folders of compiled files stay where pip itself was used.
  find "$root/venv" -not -name '*.pyc' -not -name __pycache__ | sort | { ! comm -13 <(grep -v __pycache__ "$root/before") - | grep .; }
  echo "demo, pylsl unchanged, the module; uninstalled, nothing left"
}

by_uvx() {
  python3 -m venv "$root/venv"
  "$root/venv/bin/pip" install --quiet uv
  HOME="$root" "$root/venv/bin/uvx" --from "$(ls "$packages"/schwann-*manylinux_2_17_x86_64.whl)" schwann --version
}

# What the package stands on, for a Python and a C library of a system.
download() { # VERSION FOLDER
  local glibc platform=()
  glibc=$(chroot "$root" ldd --version | sed -n '1s/.*2\.//p')
  for ((minor = 17; minor <= glibc; minor++)); do platform+=(--platform "manylinux_2_${minor}_$machine"); done
  python3 -m pip download --quiet --only-binary :all: --python-version "$1" \
    "${platform[@]}" --platform "manylinux2014_$machine" --platform "linux_$machine" --dest "$2" numpy pylsl
}

rpm_packages() {
  # A system of Debian has no database of rpm; nothing but the C library and a shell are asked for.
  rpm --root "$root" --initdb
  rpm --root "$root" --nodeps -ivh "$packages"/{schwann,liblsl2,liblsl-devel}-*.x86_64.rpm
  inside /sbin/ldconfig /usr/lib64
  demo schwann
  rpm --root "$root" -e schwann liblsl-devel liblsl2
  nothing_left
}

# The library for Android out of the package for Unity. No Android can be had here, so C programs call it where glibc stands in.
android() {
  local folder="$root/android" compiler=aarch64-linux-gnu-gcc program
  mkdir -p "$folder/names"
  tar -xzf "$packages"/org.schwann.lsl-*.tgz -C "$folder" --strip-components=4 package/Plugins/Android/arm64-v8a/liblsl.so
  $compiler -O1 -Wall -Wextra -Werror -shared -fPIC -Wl,-soname,libc.so -o "$folder/libc.so" release/android/on_glibc.c
  $compiler -shared -x c /dev/null -o "$folder/libdl.so"
  # The linker is given the names alone: the library itself asks for another C library than the programs.
  grep -v '^#' capi/symbols.txt | stand_in |
    $compiler -shared -nostdlib -x assembler - -Wl,-soname,liblsl.so -o "$folder/names/liblsl.so"
  for program in infos streams; do
    $compiler -std=gnu99 -Icapi/include -o "$folder/$program" "capi/tests/c/$program.c" "$folder/names/liblsl.so" -lm -lpthread
    within qemu-aarch64-static -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$folder" "$folder/$program"
  done
  echo "two C programs called it under QEMU"
}

msi() {
  export WINEPREFIX="$roots/wine" DISPLAY='' SCHWANN_KEYS=
  rm -rf "$WINEPREFIX"
  compile_missing_dll x86_64 "$roots/bcryptprimitives.dll"
  bash -ec "$in_windows" msi "$packages"/schwann-*-x86_64-pc-windows-gnu.msi "$roots/bcryptprimitives.dll"
}

# The same in a Windows of 32 bits, which has a Debian of its own.
msi_of_32_bits() {
  compile_missing_dll i686 "$root/tmp/bcryptprimitives.dll" -Wl,--kill-at
  cp "$packages"/schwann-*-i686-pc-windows-gnu.msi "$root/tmp/schwann.msi"
  inside env HOME=/root WINEPREFIX=/root/wine SCHWANN_KEYS= bash -ec "$in_windows" msi /tmp/schwann.msi /tmp/bcryptprimitives.dll
}

# Windows has this library, and Wine 8 has not.
compile_missing_dll() { # PROCESSOR FILE OPTIONS
  "$1-w64-mingw32-gcc" -shared -O2 "${@:3}" -o "$2" tests/tools/bcryptprimitives.c -ladvapi32
}

main
