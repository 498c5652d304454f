# The FieldTrip buffer against clients and servers of others, killed, starved of descriptors, and fed with nonsense.
#
# eegsynth (a client and a partial server) and mne-realtime come from PyPI. SCHWANN_FT_MUTATIONS and
# SCHWANN_FT_SOAK_SECONDS make the two long tests longer.
# network: own
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
python_packages
export SCHWANN_FT_SERVER="$built/examples/buffer" SCHWANN_CLI="$built/schwann"
SCHWANN_FT_MUTATIONS="${SCHWANN_FT_MUTATIONS:-50000}" python3 -m pytest -q -rs --noconftest \
  --timeout 300 tests/system/test_fieldtrip_client.py tests/system/test_fieldtrip_server.py

# The header for C programs, as C and as C++, and a program that embeds the buffer.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
strict=(-Wall -Wextra -Werror -pedantic -I capi/fieldtrip/include)
gcc -std=c99 -D_GNU_SOURCE "${strict[@]}" capi/fieldtrip/tests/embed.c -o "$scratch/embed" \
  -L "$built" -lfieldtripbuffer -lpthread
g++ "${strict[@]}" -x c++ -fsyntax-only - <<< '#include "schwann_fieldtrip.h"'
LD_LIBRARY_PATH="$built" "$scratch/embed"
# The example of its README, as it is printed there.
sed -n '/^```c$/,/^```$/{/^```/d;p}' capi/fieldtrip/README.md > "$scratch/example.c"
gcc -std=c99 "${strict[@]}" "$scratch/example.c" -o "$scratch/example" -L "$built" -lfieldtripbuffer -lm
LD_LIBRARY_PATH="$built" "$scratch/example"

# Each way of the benchmark once: it checks its own results.
"$built/schwann-bench" fieldtrip --quick --trial --out "$scratch/bench" \
  --only "32 x 16" --only history --only wake 2> /dev/null
