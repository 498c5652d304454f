# Sourced by checks: says where things are, ends a check that cannot run here, and brings the Python packages of all checks.
cd "${SCHWANN_ROOT:=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}" || exit 1
: "${SCHWANN_STATE:=$SCHWANN_ROOT/target/checks}"
export SCHWANN_ROOT SCHWANN_STATE
mkdir -p "$SCHWANN_STATE"
target="${CARGO_TARGET_DIR:-$SCHWANN_ROOT/target}"
# One profile serves every check: each thing is built once.
built="$target/debug"
# Warnings are errors in what is for Windows alone, too. 05-lints looks at the rest, so other builds have no flags, and share more.
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUSTFLAGS="-D warnings"

# Runs Rust tests that a filter of nextest chooses, as they are built for all checks: a package by itself has other features, so
# that it and what it stands on would be built again.
built_tests() {
  local filter=$1
  shift
  cargo nextest run --locked --cargo-quiet --workspace --status-level fail --hide-progress-bar -E "$filter" "$@"
}

# Ends a check that cannot do without these programs.
need() {
  local program
  for program in "$@"; do
    command -v "$program" > /dev/null || { echo "needs $program, which is not here and cannot be installed"; exit 77; }
  done
}

# Ends a check that cannot do without networks of its own.
need_networks() {
  need ip
  unshare --net true 2> /dev/null || { echo "this machine permits no networks of one's own"; exit 77; }
}

# Makes the Python environment of all checks, once, and puts it on PATH.
python_packages() {
  local venv="$SCHWANN_STATE/python" lists=("$SCHWANN_ROOT"/checks/requirements{,_alone}.txt)
  exec {lock}> "$SCHWANN_STATE/python.lock"
  flock "$lock"
  if ! cmp -s <(cat "${lists[@]}") "$venv/requirements.txt"; then
    rm -rf "$venv"
    python3 -m venv "$venv" || { echo "needs python3 with its module venv"; exit 77; }
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r "${lists[0]}"
    # What these depend on is for parts of them that no check uses.
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "${lists[1]}"
    cat "${lists[@]}" > "$venv/requirements.txt"
  fi
  exec {lock}>&-
  export PATH="$venv/bin:$PATH"
  packages=$(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
}

# The same, with our library and the original's: sets SCHWANN_LIBLSL, REAL_LIBLSL_118 and REAL_LIBLSL_117.
libraries() {
  python_packages
  SCHWANN_LIBLSL="$built/liblsl.so"
  REAL_LIBLSL_118=$(ls "$packages"/pylsl/lib/liblsl.so.1.18.*)
  REAL_LIBLSL_117=$(ls "$packages"/mne_lsl/lsl/lib/liblsl.so.1.17.*)
  export SCHWANN_LIBLSL REAL_LIBLSL_118 REAL_LIBLSL_117
}

# What the checks under Wine run. Other packages beside them would have other features, and be built again.
for_windows=(-p schwann-cli -p schwann-capi -p schwann-fieldtrip-capi)

# Brings the original's library for Windows, once, out of pylsl's wheel.
original_for_windows() {
  local folder="$SCHWANN_STATE/windows" version
  [ -e "$folder/pylsl/lib/lsl.dll" ] && return
  version=$(sed -n 's/^pylsl==//p' checks/requirements.txt)
  pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --platform win_amd64 --dest "$folder" "pylsl==$version"
  python3 -m zipfile -e "$folder"/pylsl-*.whl "$folder"
}

# Makes a Windows of one's own, under Wine, whose drive C: is $WINEPREFIX/drive_c. Its services end with the check.
windows_under_wine() { # FOLDER
  need wine wineserver x86_64-w64-mingw32-gcc
  export WINEPREFIX="$1" WINEDEBUG=-all DISPLAY=
  # Its services run before the tests do, or they would keep a test's output open.
  trap 'wineserver --kill' EXIT
  mkdir -p "$WINEPREFIX"
  # Of a run that was ended: folders there have numbers of processes, which Wine gives out again.
  rm -rf "$WINEPREFIX"/drive_c/users/*/Temp/*
  wineserver --persistent
  wineboot 2> /dev/null
  # Wine 8 passes for Windows 7, of which our program complains.
  wine reg add 'HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion' /v CurrentBuildNumber /d 19045 /f > /dev/null
  x86_64-w64-mingw32-gcc -O2 -Wall -Wextra -Werror -shared -o "$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll" \
    tests/tools/bcryptprimitives.c -ladvapi32
}
