# The crates' own tests on Windows, under Wine: the program's demo, FieldTrip buffer and player, with Ctrl-C in their consoles, and
# the C programs of both libraries. SCHWANN_WINE=all adds the crates' tests that ended well there, which takes ten minutes to build.
# cores: 1
# network: own
# debian: gcc-mingw-w64-x86-64 wine wine64
# target: x86_64-pc-windows-gnu
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
windows_under_wine "$SCHWANN_STATE/wine-tests"
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=wine CARGO_BUILD_TARGET=x86_64-pc-windows-gnu
windows="$target/$CARGO_BUILD_TARGET/debug"

# One process for all tests of a program. Not run yet: those of schwann-fieldtrip, keys and the rest of cmd, of which some hang or fail.
tests() { cargo test --locked --quiet --no-fail-fast "$@"; }
cargo build --locked --quiet -p schwann-cli -p schwann-capi -p schwann-fieldtrip-capi
tests -p schwann-cli --test recordings -- --test-threads=3
tests -p schwann-cli --test cmd -- --test-threads=3 demo ft:: play
if [ "${SCHWANN_WINE:-}" = all ]; then
  tests -p schwann-proto -p schwann-aead -p schwann-session -p schwann --lib --tests -- --test-threads=3
fi

# C programs with our libraries. Of Windows' own there is no fork, which process.c is about.
folder="$WINEPREFIX/drive_c/tests"
mkdir -p "$folder"
cp "$windows"/{lsl,fieldtripbuffer}.dll "$folder"
compile="x86_64-w64-mingw32-gcc -std=gnu99 -Wall -Wextra -Werror -static"
passed=0
for program in streams infos; do
  $compile -Icapi/include -o "$folder/$program.exe" "capi/tests/c/$program.c" "$windows/liblsl.dll.a" -lm -lpthread
  timeout 120 wine "$folder/$program.exe"
  passed=$((passed + 1))
done
$compile -Icapi/fieldtrip/include -o "$folder/embed.exe" capi/fieldtrip/tests/embed.c "$windows/libfieldtripbuffer.dll.a" -lpthread -lws2_32
timeout 120 wine "$folder/embed.exe"
echo "test result: ok. $((passed + 1)) passed; 0 failed"
