# Windows, under Wine: our program and library there, with the original's library, and with this system's.
# cores: 1
# network: own
# debian: gcc-mingw-w64-x86-64 wine wine64
# target: x86_64-pc-windows-gnu
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
need x86_64-w64-mingw32-gcc
cargo build --locked --quiet -p schwann-cli -p schwann-capi -p schwann-fieldtrip-capi --target x86_64-pc-windows-gnu
need wine
libraries
build -p schwann-cli
original_for_windows
windows="$target/x86_64-pc-windows-gnu/debug"

# Drive C: of a Windows of our own. Its programs keep their keys there, too.
export WINEPREFIX="$SCHWANN_STATE/wine" WINEDEBUG=-all DISPLAY=
# Its services run before the tests do, or they would keep a test's output open.
trap 'wineserver --kill' EXIT
mkdir -p "$WINEPREFIX"
wineserver --persistent
wineboot 2> /dev/null
# Wine 8 passes for Windows 7, of which our program complains.
wine reg add 'HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion' /v CurrentBuildNumber /d 19045 /f > /dev/null
tests="$WINEPREFIX/drive_c/tests"
rm -rf "$tests"; mkdir -p "$tests/ours" "$tests/original"
compile="x86_64-w64-mingw32-gcc -O2 -Wall -Wextra -Werror"
$compile -shared -o "$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll" tests/tools/bcryptprimitives.c -ladvapi32
$compile -Icapi/include -o "$tests/counter.exe" tests/tools/counter.c "$windows/liblsl.dll.a"
cp "$windows/schwann.exe" "$tests"
cp "$windows/lsl.dll" "$tests/ours"
cp "$SCHWANN_STATE/windows/pylsl/lib/lsl.dll" "$tests/original"
export SCHWANN_PROGRAM="$built/schwann" SCHWANN_COUNTER="$SCHWANN_STATE/counter"
cc -O2 -Wall -Wextra -Werror -Icapi/include -o "$SCHWANN_COUNTER" tests/tools/counter.c -L"$built" -llsl
python3 -m pytest -n 3 tests/system/test_wine.py -q
