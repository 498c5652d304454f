# C++ programs. Ours, compiled with our header, give the same with our library and with the original's. The original's, its own
# tests among them, compile with its header and with ours, and run on our library. They come from a published package that
# carries the original's sources; nothing of them is kept here.
# debian: valgrind iproute2 clang
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
need c++
libraries
folder="$SCHWANN_STATE/cpp"
mkdir -p "$folder/package/src" "$folder/original"
ln -sf "$SCHWANN_LIBLSL" "$folder/liblsl.so"
ln -sf "$SCHWANN_LIBLSL" "$folder/liblsl.so.2"
ln -sf "$REAL_LIBLSL_118" "$folder/original/liblsl.so.2"
export LD_LIBRARY_PATH="$folder"
passed=0
number=$(($$ % 400))
export LSLAPICFG="$folder/lsl_api.cfg"
printf '[log]\nlevel=-2\n[ports]\nMulticastPort=%d\nBasePort=%d\nIPv6=disable\n[multicast]\nResolveScope=machine\n[lab]\nSessionID=cpp-%d\n' \
  $((50039 + 20 * number)) $((50000 + 20 * number)) $$ > "$LSLAPICFG"

# Our header has every name of the original's, with its signature, in each version of the language and with each compiler.
strict="-Wall -Wextra -pedantic -Wconversion -Wshadow -Werror -Icapi/include"
for compiler in g++ clang++; do
  command -v $compiler > /dev/null || { echo "SKIPPED $compiler: not here"; continue; }
  for version in 11 14 17 20; do
    # shellcheck disable=SC2086 # lists of words
    $compiler -std=c++$version $strict -fsyntax-only capi/tests/c/signatures.cpp
    passed=$((passed + 1))
  done
done
for header in capi/include/lsl/cpp/*.h; do
  # shellcheck disable=SC2086
  echo "#include <${header#capi/include/}>" | c++ -std=c++11 $strict -fsyntax-only -x c++ -
done
# Every method gives the same with our library and with the original's.
# shellcheck disable=SC2086
c++ -std=c++11 $strict -g -fsanitize=address,undefined -fno-sanitize-recover -o "$folder/values" capi/tests/c/values.cpp \
  -L"$folder" -llsl -lpthread
timeout 240 "$folder/values" > "$folder/values.ours"
LD_LIBRARY_PATH="$folder/original" ASAN_OPTIONS=detect_leaks=0 timeout 240 "$folder/values" > "$folder/values.original"
diff --text "$folder/values.original" "$folder/values.ours" || { echo "the libraries give different values"; exit 1; }
passed=$((passed + 2))

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

flags="-std=c++11 -g -isystem $original/include"
libraries="-L$folder -llsl -lpthread"
# shellcheck disable=SC2086 # lists of words
c++ $flags -Wall -Wextra -Werror -o "$folder/wrapper" capi/tests/c/wrapper.cpp $libraries
# shellcheck disable=SC2086
c++ $flags -fsanitize=address,undefined -fno-sanitize-recover -o "$folder/wrapper-asan" capi/tests/c/wrapper.cpp $libraries
timeout 120 "$folder/wrapper"
timeout 240 "$folder/wrapper-asan"
passed=$((passed + 2))
if command -v valgrind > /dev/null; then
  timeout 500 valgrind --quiet --fair-sched=try --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite "$folder/wrapper"
  passed=$((passed + 1))
else
  echo "SKIPPED valgrind: not here"
fi

# Its examples, which are endless programs, compile and link with its header, and compile with ours.
for example in "$original"/examples/*.cpp; do
  # shellcheck disable=SC2086
  c++ $flags -w -o "$folder/example" "$example" $libraries
  c++ -std=c++11 -w -Icapi/include -fsyntax-only "$example"
  passed=$((passed + 2))
done
for example in "$original"/examples/*.c; do
  cc -w -Icapi/include -fsyntax-only "$example"
  passed=$((passed + 1))
done

# Its own tests of the public interface, under each of its configurations, in a network of their own: with its header, and those
# with ours that name nothing by the wrong namespace, which only version 1.13 permits.
catch="-w -DCATCH_CONFIG_NO_POSIX_SIGNALS"
# shellcheck disable=SC2086
c++ $flags $catch -c -o "$folder/catch_main.o" "$original"/testing/catch_main.cpp
# shellcheck disable=SC2086
c++ $flags $catch -o "$folder/tests" "$folder/catch_main.o" "$original"/testing/{DataType,discovery,timesync}.cpp $libraries
# shellcheck disable=SC2086
c++ -std=c++11 -Icapi/include $catch -o "$folder/tests-ours" "$folder/catch_main.o" "$original"/testing/{discovery,timesync}.cpp $libraries
isolated() {
  unshare -n sh -c 'ip link set lo up; ip link set lo multicast on; ip route add 224.0.0.0/4 dev lo; exec "$@"' sh "$@"
}
if [ "$(id -u)" = 0 ] && isolated ip link > /dev/null 2>&1; then
  for configuration in "$original"/testing/lslcfgs/*.cfg; do
    LSLAPICFG="$configuration" isolated timeout 120 "$folder/tests" || {
      echo "the original's tests fail with $(basename "$configuration")"; exit 1; }
    LSLAPICFG="$configuration" isolated timeout 120 "$folder/tests-ours" || {
      echo "the original's tests, compiled with our header, fail with $(basename "$configuration")"; exit 1; }
    passed=$((passed + 2))
  done
else
  echo "SKIPPED the original's own tests: no network namespaces here"
fi
echo "test result: ok. $passed passed; 0 failed"
