# C programs against our headers and library: plain, under AddressSanitizer, and under valgrind.
# debian: valgrind clang
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
folder="$SCHWANN_STATE/c"
mkdir -p "$folder"
export LD_LIBRARY_PATH="$built"
passed=0
for program in streams infos process; do
  source="capi/tests/c/$program.c"
  common="-std=gnu99 -Wall -Wextra -Werror -g -Icapi/include"
  cc $common -o "$folder/$program" "$source" -L"$built" -llsl -lm -lpthread
  cc $common -fsanitize=address,undefined -fno-sanitize-recover -o "$folder/$program-asan" "$source" \
    -L"$built" -llsl -lm -lpthread
  timeout 120 "$folder/$program"
  timeout 240 "$folder/$program-asan"
  passed=$((passed + 2))
  if command -v valgrind >/dev/null; then
    # A fork's child has the memory of its parent's threads, and not the threads: nothing gives it back there.
    leaks=full
    [ "$program" != process ] || leaks=no
    timeout 500 valgrind --quiet --fair-sched=try --error-exitcode=9 --leak-check=$leaks --errors-for-leak-kinds=definite \
      "$folder/$program"
    passed=$((passed + 1))
  else
    echo "SKIPPED valgrind $program: no valgrind here"
  fi
done
# Each header stands alone, in each version of the language and with each compiler, in C++ as well.
strict="-Wall -Wextra -pedantic -Werror -Icapi/include -fsyntax-only"
for compiler in gcc clang; do
  command -v $compiler > /dev/null || { echo "SKIPPED $compiler: not here"; continue; }
  for header in schwann.h lsl_c.h lsl/{common,inlet,outlet,resolver,streaminfo,types,xml}.h; do
    for version in c89 c99 c11 c17 c2x; do
      # shellcheck disable=SC2086 # lists of words
      echo "#include <$header>" | $compiler -std=$version $strict -x c -
      passed=$((passed + 1))
    done
    # shellcheck disable=SC2086
    echo "#include <$header>" | $compiler -std=c++11 $strict -x c++ -
  done
done
echo "test result: ok. $passed passed; 0 failed"
