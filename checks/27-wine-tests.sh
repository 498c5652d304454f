# The crates' own tests on Windows, under Wine: recordings, the demo, the FieldTrip buffer and the player, with Ctrl-C in their
# consoles, and the C programs of both libraries. SCHWANN_WINE=all runs all tests that can be run there, and takes long to build.
# cores: 1
# network: own
# debian: gcc-mingw-w64-x86-64 wine wine64
# target: x86_64-pc-windows-gnu
# after: 02-windows
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
windows_under_wine "$SCHWANN_STATE/wine-tests"
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=wine CARGO_BUILD_TARGET=x86_64-pc-windows-gnu
# One process for all tests of a program, three tests at a time.
export RUST_TEST_THREADS=3
windows="$target/$CARGO_BUILD_TARGET/debug"

failed=0
tests() { cargo test --locked --quiet --no-fail-fast "$@" || failed=1; }

all() {
  tests -p schwann-proto -p schwann-aead -p schwann-session -p schwann-mse -p schwann-xdf --lib --tests
  # In Wine 8, connections are made too slowly for a flood.
  tests -p schwann --lib --tests -- --skip a_flood_of_half_handshakes
  # In Wine 8, a thread that receives or sends still waits after another has shut the connection. These tests end a server or a
  # tunnel that has clients.
  tests -p schwann-fieldtrip --lib --tests -- --skip a_broken_connection_is_made_again --skip a_client_that_never_reads
  # Nor are these run: a tunnel lets nobody in where the system does not tell users apart; an open file stays when it is deleted;
  # the first Ctrl-C may have ended the program before the second one comes; the connections of a program that was killed may stay
  # open; a second is too short for Wine.
  tests -p schwann-cli --test cmd --test keys -- --skip a_sealed_stream_is_mirrored --skip tunnel_lab:: \
    --skip tunnel::strangers_and_the_revoked --skip tunnel::what_is_wrong --skip is_deleted_goes_on --skip two_signals \
    --skip while_a_stream_is_away --skip many_streams_are_shown_within_two_seconds
}

tests "${for_windows[@]}" --test recordings
if [ "${SCHWANN_WINE:-}" = all ]; then
  all
else
  tests "${for_windows[@]}" --test cmd -- demo ft:: play terminal_is_closed
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
$compile -Icapi/fieldtrip/include -o "$folder/embed.exe" capi/fieldtrip/tests/embed.c "$windows/libfieldtripbuffer.dll.a" \
  -lpthread -lws2_32
timeout 120 wine "$folder/embed.exe"
echo "test result: ok. $((passed + 1)) passed; 0 failed"
exit "$failed"
