# The codecs of proto, and what the relay does without signatures and keys, under miri, which finds what compiles and is undefined
# all the same. Needs a nightly compiler with miri; less than a minute once that is built.
# nightly: miri rust-src
set -uo pipefail
cargo +nightly miri --version >/dev/null 2>&1 ||
  { echo "there is no nightly compiler with miri here, and none can be had"; exit 77; }

set -e
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/miri"
# Floats as on real machines: some tests compare numbers to the bit.
export MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-deterministic-floats"
cargo +nightly miri test --quiet -p schwann-proto --lib -- \
  wire::sample wire::discover wire::timedata wire::archive
# The others make keys and sign: the shortest of them was not through after seven minutes.
cargo +nightly miri test --quiet -p schwann-relay --lib
