# What the checks under Wine run, built with all processors before they start.
# cores: 2
# debian: gcc-mingw-w64-x86-64
# target: x86_64-pc-windows-gnu
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
build_for_windows
cargo test --locked --quiet -p schwann-cli --test recordings --test cmd --target x86_64-pc-windows-gnu --no-run
