# Every Rust test and every example in the docs.
set -euo pipefail
cargo test --locked --workspace --no-fail-fast
