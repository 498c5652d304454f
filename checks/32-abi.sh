# The shared library exports exactly the names of capi/symbols.txt, under the name that programs look for.
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
library=$built/liblsl.so
exported=$(nm -D --defined-only "$library" | awk '$2 == "T" { print $3 }' | LC_ALL=C sort)
diff <(LC_ALL=C sort capi/symbols.txt) <(echo "$exported") || {
  echo "the exported functions differ from capi/symbols.txt"; exit 1; }
declared=$(sed 's,/\*.*\*/,,; /^ \*/d' capi/include/{lsl/*.h,schwann.h} | grep -oE '\b(lsl|schwann)_[a-z0-9_]+\(' | tr -d '(' | LC_ALL=C sort)
diff <(LC_ALL=C sort capi/symbols.txt) <(echo "$declared") || { echo "the headers declare other functions than capi/symbols.txt"; exit 1; }
readelf -d "$library" | grep -q 'SONAME.*\[liblsl\.so\.2\]' || { echo "wrong soname"; exit 1; }
echo "$(grep -c '^lsl_' capi/symbols.txt) functions of the original and $(grep -c '^schwann_' capi/symbols.txt) of our own, soname liblsl.so.2"
