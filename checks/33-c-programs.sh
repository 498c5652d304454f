# C programs against our headers and library: plain, under AddressSanitizer, and under valgrind.
# debian: valgrind
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
build -p schwann-capi
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
# The headers stand alone in C++ as well.
echo '#include "schwann.h"' | c++ -Wall -Wextra -Werror -Icapi/include -x c++ -fsyntax-only -
echo "test result: ok. $passed passed; 0 failed"
