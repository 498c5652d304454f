# The package for Unity: its wrapper sends and receives on our library, compiled and run by Mono, and the package is whole.
# network: own
# debian: mono-mcs mono-runtime
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
need mcs mono
folder="$SCHWANN_STATE/unity"
rm -rf "$folder"
mkdir -p "$folder/built/x86_64-unknown-linux-gnu"
mcs -langversion:7 -warnaserror -out:"$folder/round_trip.exe" release/unity/Runtime/*.cs release/unity/Tests~/RoundTrip.cs
cp "$built/liblsl.so" "$folder/built/x86_64-unknown-linux-gnu"
python3 release/unity.py "$folder/built" "$folder" 1.2.3 1700000000
tar -xzf "$folder/org.schwann.lsl-1.2.3.tgz" -C "$folder"
python3 - "$folder/package" << 'END'
import json, pathlib, sys
package = pathlib.Path(sys.argv[1])
assert json.loads((package / "package.json").read_text())["version"] == "1.2.3"
bare = [path for path in package.rglob("*") if path.suffix != ".meta" and not (path.parent / f"{path.name}.meta").exists()
        and ".androidlib/" not in path.as_posix()]
assert not bare, f"Unity leaves these out, because they have no .meta: {bare}"
numbers = [line for path in package.rglob("*.meta") for line in path.read_text().splitlines() if line.startswith("guid:")]
assert len(set(numbers)) == len(numbers) > 10
END
# As a game would: the library out of the package.
LSLAPICFG=/dev/null LC_ALL=C.UTF-8 LD_LIBRARY_PATH="$folder/package/Plugins/Linux/x86_64" mono "$folder/round_trip.exe"
rm -r "$folder/built" "$folder/package"
