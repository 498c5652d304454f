"""Compares the dependencies between the workspace's crates with the table of ARCHITECTURE.md.

A crate may depend on the crates that its line names and on no other of ours. Crates below the sans-IO
line must also forbid unsafe code and the standard library.
"""

import json
import pathlib
import subprocess
import sys

ALLOWED = {
    "schwann-aead": set(),
    "schwann-proto": set(),
    "schwann-session": {"schwann-aead"},
    "schwann-mse": set(),
    "schwann-xdf": set(),
    "schwann-node": {"schwann-proto", "schwann-session"},
    "schwann": {"schwann-proto", "schwann-session"},
    "schwann-fieldtrip": {"schwann-session"},
    "schwann-fieldtrip-capi": {"schwann-fieldtrip"},
    "schwann-capi": {"schwann", "schwann-proto"},
    "schwann-bench": {"schwann", "schwann-aead", "schwann-fieldtrip", "schwann-mse", "schwann-proto",
                      "schwann-session"},
    "schwann-cli": {"schwann", "schwann-fieldtrip", "schwann-mse", "schwann-proto",
                    "schwann-session", "schwann-xdf"},
    "schwann-node-capi": {"schwann-node", "schwann-proto", "schwann-session"},
    "schwann-node-smoltcp": {"schwann-node"},
}
SAFE = {"proto", "session", "mse", "xdf", "engine", "fieldtrip", "firmware/node", "firmware/smoltcp", "cli"}
NO_STD = {"proto", "aead", "session", "mse", "firmware/node", "firmware/smoltcp"}


def main() -> int:
    metadata = json.loads(subprocess.check_output(["cargo", "metadata", "--format-version", "1", "--no-deps"]))
    wrong = []
    for package in metadata["packages"]:
        name = package["name"]
        ours = {d["name"] for d in package["dependencies"] if d["name"] in ALLOWED and d["kind"] is None}
        if name not in ALLOWED:
            wrong.append(f"{name} is not in the table of checks/layers.py: give it a line and a reason")
        elif extra := ours - ALLOWED[name]:
            wrong.append(f"{name} depends on {', '.join(sorted(extra))}, which the layers do not permit")
    for crate in SAFE:
        root = pathlib.Path(crate, "src", "main.rs" if crate == "cli" else "lib.rs").read_text()
        if "#![forbid(unsafe_code)]" not in root:
            wrong.append(f"{crate} does not forbid unsafe code")
    for crate in NO_STD:
        if "no_std" not in pathlib.Path(crate, "src", "lib.rs").read_text():
            wrong.append(f"{crate} is not no_std")
    print("\n".join(wrong) or "layers: as drawn")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
