# The book is built. Every page of it is followed literally, as a newcomer would: each command is typed, each snippet compiled and run, each
# screen compared. The reference pages equal the code, and every command, option, variable and key that a page names exists.
# cores: 0
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
need_networks
need c++
python_packages
# Always the same folder: what Cargo built for a page is kept for the next time.
scratch="$SCHWANN_STATE/guide-pages"
rm -rf "$scratch"; mkdir -p "$scratch"
trap 'rm -rf "$scratch"' EXIT
mdbook build --dest-dir "$scratch/book" docs/guide
python3 - "$scratch/book" << 'END'
import pathlib, re, sys
book = pathlib.Path(sys.argv[1])
links = [(page, link) for page in book.rglob("*.html") for link in re.findall(r'href="(?!\w+:)([^"#?]+)', page.read_text())]
sys.exit("\n".join(f"{page.relative_to(book)}: {link} leads nowhere" for page, link in links if not (page.parent / link).exists()) or None)
END
# The Python package as it is in the tree: what is native of it beside the rest.
package="$scratch/python/schwann"
mkdir -p "$package"
ln -s "$PWD"/python/schwann/* "$package/"
# Not a symbolic link: 66-python makes that file anew meanwhile.
ln "$built/lib_schwann.so" "$package/_schwann.abi3.so"
export PYTHONPATH="$scratch/python"
export CARGO_TARGET_DIR="$SCHWANN_STATE/guide-cargo"
PYTHONPATH="tests/tools:$PYTHONPATH" python3 tests/tools/guide.py "$built" "$scratch" "$@"
