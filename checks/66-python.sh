# The Python package: `pip install ./python` works, and it passes its tests, pylsl on the real liblsl among the peers; its examples
# run; types hold. The loop that looks for leaks has 3,000 rounds; with SCHWANN_LEAK_ROUNDS=100000 it takes 80 s.
# cores: 1
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
python_packages
folder="$SCHWANN_STATE/python-package"
rm -rf "$folder"; mkdir -p "$folder"
python3 -m venv --without-pip "$folder/venv"
python="$folder/venv/bin/python"
# What the build, the package and the tests stand on comes from the environment of all checks.
installed=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
echo "$packages" > "$installed/checks.pth"
# As the README says, in the profile of all checks. By itself it asks less of other crates, so 143 of them are built again.
MATURIN_PEP517_ARGS="--profile dev" pip --quiet --disable-pip-version-check --python "$python" \
  install --no-deps --no-index --no-build-isolation ./python
# As in the wheels that are published: the library for programs of pylsl and mne-lsl.
mkdir -p "$installed/schwann/lib"
cp "$built/liblsl.so" "$installed/schwann/lib/"

# It makes the keys of labs.
export SCHWANN_PROGRAM="$built/schwann"
"$python" -P -m pytest -q -p no:cacheprovider --timeout 120 --timeout-method thread -n 2 python/tests

mypy --strict --no-error-summary --cache-dir "$folder/mypy" --python-executable "$python" python/schwann
mypy --strict --no-error-summary --cache-dir "$folder/mypy" --python-executable "$python" examples/python/package/*.py
(cd "$folder" && "$python" -m mypy.stubtest schwann._schwann)
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
# Until the others are done, however long that takes.
"$python" examples/python/package/send.py 600 & sender=$!
trap 'kill $sender 2> /dev/null || true' EXIT
"$python" examples/python/package/receive.py 5 | tee "$folder/receive.txt"
"$python" examples/python/package/latest.py 3
"$python" examples/python/package/markers.py
"$python" examples/python/package/record.py "$folder/example.xdf" 1
"$python" examples/python/package/load.py "$folder/example.xdf" | tee "$folder/load.txt"
# It opens every stream that it finds, and those of the others go soon.
"$python" examples/python/package/many.py 1 | tee "$folder/many.txt"
# One for each task; the times that they wait are their own.
"$python" examples/python/package/ordered.py | tee "$folder/ordered.txt" & tasks=($!)
"$python" examples/python/package/filtered.py 10 & tasks+=($!)
"$python" examples/python/package/alarm.py | tee "$folder/alarm.txt" & tasks+=($!)
"$python" examples/python/package/one_line_changed.py | tee "$folder/pylsl.txt" & tasks+=($!)
"$python" examples/python/package/notebook.py "$folder/notebook.html" | tee "$folder/notebook.txt" & tasks+=($!)
for task in "${tasks[@]}"; do wait "$task"; done
"$python" -m schwann examples/python/resolve.py
kill "$sender"
"$python" examples/python/package/send.py 1 | tee "$folder/send.txt"
grep -q '0 samples lost, clock offset' "$folder/receive.txt"
grep -q '0 samples lost' "$folder/send.txt"
grep -q '^Sines: .* × 8 channels in .* s, 0 gaps' "$folder/load.txt"
grep -q '^Sines: [1-9][0-9]* samples in 1 s' "$folder/many.txt"
grep -q '^begin after [0-9]* samples' "$folder/ordered.txt"
grep -q '^True: samples wait' "$folder/alarm.txt"
grep -q "\['first', 'second'\] \[\[1, 2\], \[3, 4\]\] True" "$folder/pylsl.txt"
grep -q ': 16 rows of tables, 8 lines of a plot' "$folder/notebook.txt"
