# Every Rust test and every example in the docs.
# network: own
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
python_packages
cargo nextest run --locked --workspace --status-level fail --final-status-level slow --hide-progress-bar
cargo test --locked --quiet --workspace --doc --no-fail-fast
