# What the checks under Wine run, built with all processors before they start.
# cores: 2
# debian: gcc-mingw-w64-x86-64
# target: x86_64-pc-windows-gnu
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
need x86_64-w64-mingw32-gcc
export CARGO_BUILD_TARGET=x86_64-pc-windows-gnu
cargo build --locked --quiet -p schwann-cli -p schwann-capi -p schwann-fieldtrip-capi
cargo test --locked --quiet -p schwann-cli --test recordings --test cmd --no-run
