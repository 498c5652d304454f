# What install.sh puts into a folder is all that a program needs: CMake and pkg-config find it, the examples build and run on it,
# a packager's tree is equal, and nothing stays after its removal.
# cores: 1
# network: own
# debian: cmake pkg-config
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
need cc c++ cmake pkg-config
python_packages
folder="$SCHWANN_STATE/install"
rm -rf "$folder"; mkdir -p "$folder"
tree="$folder/prefix"

./install.sh --prefix "$tree" --from "$built" > /dev/null
[ "$(readlink -f "$tree/lib/liblsl.so")" = "$(readlink -f "$tree/lib/liblsl.so.2")" ]
"$tree/bin/schwann" --version > /dev/null
DESTDIR="$folder/stage" ./install.sh --prefix /usr --libdir /usr/lib/triplet --from "$built" > /dev/null
grep -qx 'libdir=/usr/lib/triplet' "$folder/stage/usr/lib/triplet/pkgconfig/lsl.pc"

# A tree that was moved serves CMake as well. Programs that ask for a version get it, or not.
mv "$tree" "$folder/moved"
strict="-Wall -Wextra -pedantic -Werror"
cmake -S examples -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/moved" -DCMAKE_C_FLAGS="$strict" -DCMAKE_CXX_FLAGS="$strict" > "$folder/cmake.log"
cmake --build "$folder/build" --parallel 2 >> "$folder/cmake.log"
mkdir -p "$folder/application"
cat > "$folder/application/CMakeLists.txt" << 'END'
cmake_minimum_required(VERSION 3.12)
project(application LANGUAGES C)
find_package(LSL 1.16 REQUIRED)
find_package(LSL 9 QUIET)
if(LSL_FOUND)
  message(FATAL_ERROR "found version 9")
endif()
find_package(LSL 1.16 REQUIRED)
get_filename_component(folder "${LSL_CONFIG}" DIRECTORY)
include("${folder}/LSLCMake.cmake")
add_executable(application application.c)
target_link_libraries(application PRIVATE LSL::lsl)
installLSLApp(application)
LSLGenerateCPackConfig()
END
printf '#include <lsl_c.h>\nint main(void) { return lsl_library_version() != 118; }\n' > "$folder/application/application.c"
cmake -S "$folder/application" -B "$folder/application/build" -DCMAKE_PREFIX_PATH="$folder/moved" \
  -DCMAKE_INSTALL_PREFIX="$folder/application" >> "$folder/cmake.log"
cmake --build "$folder/application/build" --target install >> "$folder/cmake.log"
LD_LIBRARY_PATH="$folder/moved/lib" "$folder/application/bin/application"
mv "$folder/moved" "$tree"
export PKG_CONFIG_PATH="$tree/lib/pkgconfig"
pkg-config --atleast-version=1.16 lsl
# shellcheck disable=SC2046 # a list of words
c++ -o "$folder/send" examples/cpp/send.cpp $(pkg-config --cflags --libs lsl)

python3 tests/system/examples.py "$folder/build" "$built" "$tree" "$folder"

./install.sh --prefix "$tree" --uninstall
DESTDIR="$folder/stage" ./install.sh --prefix /usr --libdir /usr/lib/triplet --uninstall
left=$(find "$tree" "$folder/stage" ! -type d; find "$tree" "$folder/stage" -iname '*lsl*' -o -iname '*schwann*')
[ -z "$left" ] || { echo "after the removal there is still: $left"; exit 1; }
