# C++ programs compiled against the original's header, its own tests among them, run on our library. The header and the
# tests come from a published package that carries the original's sources; nothing of them is kept here.
# debian: valgrind iproute2
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
need c++
build -p schwann-capi
folder="$SCHWANN_STATE/cpp"
mkdir -p "$folder/package/src"
library="$built/liblsl.so"
ln -sf "$library" "$folder/liblsl.so"
ln -sf "$library" "$folder/liblsl.so.2"
export LD_LIBRARY_PATH="$folder"

# lsl-sys 0.1.1 has the sources of liblsl 1.13 (MIT licence).
cat > "$folder/package/Cargo.toml" << 'END'
[package]
name = "original"
version = "0.0.0"
edition = "2021"
[dependencies]
lsl-sys = "=0.1.1"
[workspace]
END
touch "$folder/package/src/lib.rs"
manifest=$(cargo metadata --quiet --format-version 1 --manifest-path "$folder/package/Cargo.toml" 2> /dev/null |
  grep -o '"[^"]*/lsl-sys-0.1.1/Cargo.toml"' | head -1 | tr -d '"') || true
[ -n "$manifest" ] || { echo "the package with the original's header cannot be had here"; exit 77; }
original="$(dirname "$manifest")/liblsl"

passed=0
flags="-std=c++11 -g -isystem $original/include"
libraries="-L$folder -llsl -lpthread"
# shellcheck disable=SC2086 # lists of words
c++ $flags -Wall -Wextra -Werror -o "$folder/wrapper" capi/tests/c/wrapper.cpp $libraries
# shellcheck disable=SC2086
c++ $flags -fsanitize=address,undefined -fno-sanitize-recover -o "$folder/wrapper-asan" capi/tests/c/wrapper.cpp $libraries
number=$(($$ % 400))
export LSLAPICFG="$folder/lsl_api.cfg"
printf '[log]\nlevel=-2\n[ports]\nMulticastPort=%d\nBasePort=%d\nIPv6=disable\n[multicast]\nResolveScope=machine\n[lab]\nSessionID=cpp-%d\n' \
  $((50039 + 20 * number)) $((50000 + 20 * number)) $$ > "$LSLAPICFG"
timeout 120 "$folder/wrapper"
timeout 240 "$folder/wrapper-asan"
passed=$((passed + 2))
if command -v valgrind > /dev/null; then
  timeout 500 valgrind --quiet --fair-sched=try --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite "$folder/wrapper"
  passed=$((passed + 1))
else
  echo "SKIPPED valgrind: not here"
fi

# Its examples, which are endless programs: they compile and link.
for example in "$original"/examples/*.cpp; do
  # shellcheck disable=SC2086
  c++ $flags -w -o "$folder/example" "$example" $libraries
  passed=$((passed + 1))
done

# Its own tests of the public interface, under each of its configurations, in a network of their own.
# shellcheck disable=SC2086
c++ $flags -w -DCATCH_CONFIG_NO_POSIX_SIGNALS -o "$folder/tests" "$original"/testing/{catch_main,DataType,discovery,timesync}.cpp $libraries
isolated() {
  unshare -n sh -c 'ip link set lo up; ip link set lo multicast on; ip route add 224.0.0.0/4 dev lo; exec "$@"' sh "$@"
}
if [ "$(id -u)" = 0 ] && isolated ip link > /dev/null 2>&1; then
  for configuration in "$original"/testing/lslcfgs/*.cfg; do
    LSLAPICFG="$configuration" isolated timeout 120 "$folder/tests" || {
      echo "the original's tests fail with $(basename "$configuration")"; exit 1; }
    passed=$((passed + 1))
  done
else
  echo "SKIPPED the original's own tests: no network namespaces here"
fi
echo "test result: ok. $passed passed; 0 failed"
