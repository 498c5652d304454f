# Everything that the other checks run, built once.
# cores: 2
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
python_packages
# Also what only other systems need: some checks have no network.
cargo fetch --locked --quiet
cargo build --locked --quiet --workspace --bins --examples --lib
cargo nextest run --locked --cargo-quiet --workspace --no-run
