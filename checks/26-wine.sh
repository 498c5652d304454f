# Windows, under Wine: our program and library there, with the original's library, and with this system's.
# cores: 1
# network: own
# debian: gcc-mingw-w64-x86-64 wine wine64
# target: x86_64-pc-windows-gnu
# fetch: original_for_windows
# after: 00-build 02-windows
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
need wine
libraries
original_for_windows
windows="$target/x86_64-pc-windows-gnu/debug"

# Its programs keep their keys on drive C:, too.
windows_under_wine "$SCHWANN_STATE/wine"
tests="$WINEPREFIX/drive_c/tests"
rm -rf "$tests"; mkdir -p "$tests/ours" "$tests/original"
compile="x86_64-w64-mingw32-gcc -O2 -Wall -Wextra -Werror"
$compile -Icapi/include -o "$tests/counter.exe" tests/tools/counter.c "$windows/liblsl.dll.a"
cp "$windows/schwann.exe" "$tests"
cp "$windows/lsl.dll" "$tests/ours"
cp "$SCHWANN_STATE/windows/pylsl/lib/lsl.dll" "$tests/original"
export SCHWANN_PROGRAM="$built/schwann" SCHWANN_COUNTER="$SCHWANN_STATE/counter"
cc -O2 -Wall -Wextra -Werror -Icapi/include -o "$SCHWANN_COUNTER" tests/tools/counter.c -L"$built" -llsl
python3 -m pytest -n 3 tests/system/test_wine.py -q
