# The code is formatted by rustfmt.
set -euo pipefail
cargo fmt --all --check
