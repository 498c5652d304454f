# The Python package: its wheel is built, installed and passes its tests, pylsl on the real liblsl among the peers; its examples
# run; types hold. The loop that looks for leaks has 3,000 rounds; with SCHWANN_LEAK_ROUNDS=100000 it takes 80 s.
# cores: 1
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
python_packages
folder="$SCHWANN_STATE/python-package"
rm -rf "$folder"; mkdir -p "$folder"
maturin build --quiet --locked --profile dev --manifest-path python/Cargo.toml --interpreter python3 --out "$folder"
python3 -m venv --without-pip "$folder/venv"
python="$folder/venv/bin/python"
pip --quiet --disable-pip-version-check --python "$python" install --no-deps --no-index "$folder"/schwann-*.whl
# What the tests and the package stand on comes from the environment of all checks.
installed=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
echo "$packages" > "$installed/checks.pth"

"$python" -P -m pytest -q -p no:cacheprovider --timeout 120 --timeout-method thread -n 2 python/tests

mypy --strict --no-error-summary --cache-dir "$folder/mypy" --python-executable "$python" python/schwann
mypy --strict --no-error-summary --cache-dir "$folder/mypy" --python-executable "$python" examples/python/package/*.py
pyright --warnings --pythonpath "$python" "$installed/schwann" examples/python/package

cat > "$folder/lsl_api.cfg" << END
[log]
level=-2
[multicast]
ResolveScope=machine
[lab]
SessionID=python-examples-$$
END
export LSLAPICFG="$folder/lsl_api.cfg" SCHWANN_KEYS="$folder/keys"
"$python" examples/python/package/send.py 8 > "$folder/send.txt" & sender=$!
trap 'kill $sender 2> /dev/null || true' EXIT
"$python" examples/python/package/receive.py 5 | tee "$folder/receive.txt"
"$python" examples/python/package/latest.py 3
"$python" examples/python/package/markers.py
"$python" examples/python/package/record.py "$folder/example.xdf" 1
"$python" examples/python/package/load.py "$folder/example.xdf" | tee "$folder/load.txt"
wait "$sender"
grep -q '0 samples lost, clock offset' "$folder/receive.txt"
grep -q '0 samples lost' "$folder/send.txt"
grep -q '^Sines: .* × 8 channels in .* s, 0 gaps' "$folder/load.txt"
