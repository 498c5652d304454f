# What the checks under Wine run, built with all processors before they start.
# cores: 2
# debian: gcc-mingw-w64-x86-64
# target: x86_64-pc-windows-gnu
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
need x86_64-w64-mingw32-gcc
# In one call: what tests ask of other crates would have 44 of them built again.
cargo build --locked --quiet "${for_windows[@]}" --lib --bins --test recordings --test cmd --target x86_64-pc-windows-gnu
