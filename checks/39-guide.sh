# Every page of the guide, followed literally as a newcomer would: each command is typed, each snippet compiled and run, each
# screen compared. The reference pages equal the code, and every command, option, variable and key that a page names exists.
# cores: 0
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
need_networks
need c++
python_packages
build -p schwann-cli -p schwann-capi
# Always the same folder: what Cargo built for a page is kept for the next time.
scratch="$SCHWANN_STATE/guide-pages"
rm -rf "$scratch"; mkdir -p "$scratch"
trap 'rm -rf "$scratch"' EXIT
if command -v mdbook > /dev/null; then
  mdbook build --dest-dir "$scratch/book" docs/guide
else
  echo "mdbook is not here: the book was not built, its pages were followed"
fi
export CARGO_TARGET_DIR="$SCHWANN_STATE/guide-cargo"
PYTHONPATH=tests/tools python3 tests/tools/guide.py "$built" "$scratch" "$@"
