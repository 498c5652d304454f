"""Ends a release: notes, bill of materials, checksums, and what package collections need, in the release's folder.

    release/finish.py FOLDER VERSION
"""

import hashlib
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ("schwann-cli", "schwann-capi", "schwann-fieldtrip-capi")


def notes(version: str) -> str:
    """The changelog's part on this version."""
    text = (ROOT / "CHANGELOG.md").read_text()
    part = re.search(rf"^## \[{re.escape(version)}\][^\n]*\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    if not part:
        sys.exit(f"CHANGELOG.md has no section [{version}]: give the top section the version and the date")
    return part[1].strip() + "\n"


def bill_of_materials(version: str) -> str:
    """All crates that are linked into what is released, as CycloneDX 1.5."""
    metadata = json.loads(subprocess.run(["cargo", "metadata", "--locked", "--format-version=1"], cwd=ROOT, check=True, capture_output=True).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    used = {node["id"]: [one["pkg"] for one in node["deps"] if any(kind["kind"] is None for kind in one["dep_kinds"])]
            for node in metadata["resolve"]["nodes"]}
    linked, waiting = set(), [key for key, package in packages.items() if package["name"] in PROGRAMS]
    while waiting:
        if (key := waiting.pop()) not in linked:
            linked.add(key)
            waiting += used[key]
    components = [component(packages[key]) for key in sorted(linked, key=lambda key: (packages[key]["name"], packages[key]["version"]))]
    return json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
                       "metadata": {"component": {"type": "application", "name": "schwann", "version": version}},
                       "components": components}, indent=1) + "\n"


def component(package: dict) -> dict:
    one = {"type": "library", "name": package["name"], "version": package["version"],
           "purl": f"pkg:cargo/{package['name']}@{package['version']}"}
    if package["license"]:
        one["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    return one


def checksums(folder: pathlib.Path) -> dict[str, str]:
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != "SHA256SUMS")
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def fill_templates(folder: pathlib.Path, version: str, sums: dict[str, str]) -> None:
    """`@VERSION@` is the version, `@SHA256 NAME@` the checksum of a file of the release; a file that is not there fills nothing."""
    for template in sorted((ROOT / "release" / "templates").iterdir()):
        text = template.read_text().replace("@VERSION@", version)
        absent = [name for name in re.findall(r"@SHA256 (.+?)@", text) if name not in sums]
        if absent:
            print(f"{template.name} is left out: this release has no {', '.join(absent)}")
            continue
        (folder / "collections").mkdir(exist_ok=True)
        (folder / "collections" / template.name).write_text(re.sub(r"@SHA256 (.+?)@", lambda name: sums[name[1]], text))


def main() -> None:
    folder, version = pathlib.Path(sys.argv[1]), sys.argv[2]
    (folder / "NOTES.md").write_text(notes(version))
    (folder / f"schwann-{version}.cdx.json").write_text(bill_of_materials(version))
    sums = checksums(folder)
    (folder / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()))
    fill_templates(folder, version, sums)


if __name__ == "__main__":
    main()
