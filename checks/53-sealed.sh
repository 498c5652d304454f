# Sealed streams between unchanged programs, with a listener on the wire, strangers, and the real library.
# cores: 0
# network: own
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
libraries
export SCHWANN_PROGRAM="$built/schwann"
# They spend most of their time waiting for searches.
python3 -m pytest -n 4 tests/system/test_sealed.py tests/system/test_refusals.py tests/system/test_newcomer.py -q

# The same from C: who is at the other end, and why there is no session.
folder="$SCHWANN_STATE/c-sealed"
rm -rf "$folder"; mkdir -p "$folder"
ln -s "$SCHWANN_LIBLSL" "$folder/liblsl.so"; ln -s "$SCHWANN_LIBLSL" "$folder/liblsl.so.2"
cc -std=gnu99 -Wall -Wextra -Werror -g -Icapi/include -o "$folder/sealed" capi/tests/c/sealed.c -L"$folder" -llsl -lm
export LD_LIBRARY_PATH="$folder" HOME="$folder"
SCHWANN_KEYS="$folder/keys" "$SCHWANN_PROGRAM" keys init --unprotected > /dev/null
SCHWANN_KEYS="$folder/keys" timeout 120 "$folder/sealed"
SCHWANN_KEYS="$folder/none" SCHWANN_SECURITY=require timeout 120 "$folder/sealed" no-key
echo "test result: ok. 2 passed; 0 failed"
