"""Holds the table of crates in ARCHITECTURE.md against what Cargo builds, and its list of the engine's modules against
what they import; draws the picture there from the table.

    python3 checks/layers.py          fails where the table, the picture or the code differ
    python3 checks/layers.py --draw   draws the picture anew
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import typing

PAGE = pathlib.Path("ARCHITECTURE.md")
HEAD = ["Crate", "Room", "May use", "`std`", "`unsafe`", "Why it is a crate"]
PICTURE = re.compile(r"```mermaid\n.*?```", re.S)
# What is made for microcontrollers; no desktop crate stands on it.
FIRMWARE = "firmware/"


class Crate(typing.NamedTuple):
    name: str
    room: str
    uses: frozenset[str]
    std: str
    unsafe: str


def table(page: str) -> list[Crate]:
    """The rows of the table of crates, in its order."""
    lines = page.splitlines()
    cells = lambda line: [cell.strip() for cell in line.strip("|").split("|")]
    start = next((number for number, line in enumerate(lines) if cells(line) == HEAD), None)
    if start is None:
        raise SystemExit(f"{PAGE} has no table with the columns {', '.join(HEAD)}")
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        name, room, uses, std, unsafe, _ = cells(line)
        rows.append(Crate(name.strip("`"), room, frozenset(re.findall(r"`([^`]+)`", uses)), std, unsafe))
    return rows


def built() -> dict[str, frozenset[str]]:
    """What each crate of the workspace depends on, by folder; tests may use what they like."""
    metadata = json.loads(subprocess.check_output(["cargo", "metadata", "--format-version", "1", "--no-deps"]))
    root = metadata["workspace_root"]
    folders = {one["name"]: os.path.relpath(os.path.dirname(one["manifest_path"]), root) for one in metadata["packages"]}
    of = lambda one: frozenset(folders[d["name"]] for d in one["dependencies"] if d["name"] in folders and d["kind"] is None)
    return {folders[one["name"]]: of(one) for one in metadata["packages"]}


def differences(crates: list[Crate], actual: dict[str, frozenset[str]]) -> list[str]:
    drawn = {crate.name: crate for crate in crates}
    wrong = [f"{name} is not in the table of {PAGE}: give it a row and a reason" for name in actual.keys() - drawn.keys()]
    wrong += [f"{name} is in the table of {PAGE} and not in the workspace" for name in drawn.keys() - actual.keys()]
    for crate in (crate for crate in crates if crate.name in actual):
        uses = actual[crate.name]
        wrong += [f"{crate.name} uses {other}, which its row does not permit" for other in sorted(uses - crate.uses)]
        wrong += [f"{crate.name} may use {other} and does not: take it out of its row" for other in sorted(crate.uses - uses)]
    return wrong


def upward(crates: list[Crate]) -> list[str]:
    """Uses of what stands above in the table: its order is the way down."""
    place = {crate.name: number for number, crate in enumerate(crates)}
    return [f"{crate.name} uses {other}, which stands above it" for crate in crates for other in sorted(crate.uses)
            if place.get(other, 0) <= place[crate.name]]


def misplaced(crates: list[Crate]) -> list[str]:
    return [f"{crate.name} runs on a desktop and stands on {other}" for crate in crates for other in sorted(crate.uses)
            if other.startswith(FIRMWARE) and not crate.name.startswith(FIRMWARE)]


def unkept(crate: Crate) -> list[str]:
    """What the row says of `std` and `unsafe`, and the crate's first file does not."""
    folder = pathlib.Path(crate.name, "src")
    root = (folder / "lib.rs" if (folder / "lib.rs").exists() else folder / "main.rs").read_text()
    wrong = []
    if crate.unsafe == "forbidden" and "#![forbid(unsafe_code)]" not in root:
        wrong.append(f"{crate.name} does not forbid unsafe code")
    if crate.std.startswith("no") and "no_std" not in root:
        wrong.append(f"{crate.name} is not no_std")
    return wrong


def picture(crates: list[Crate]) -> str:
    """A box for each room, from the top, and an arrow for each use."""
    node = lambda name: name.replace("/", "_")
    lines = ["```mermaid", "flowchart TD"]
    for room in dict.fromkeys(crate.room for crate in crates):
        lines += [f"    subgraph {room}", *(f"        {node(c.name)}[{c.name}]" for c in crates if c.room == room), "    end"]
    lines += [f"    {node(crate.name)} --> {node(other)}" for crate in crates for other in sorted(crate.uses)]
    return "\n".join([*lines, "```"])


def modules(page: str, root: pathlib.Path) -> list[str]:
    """What modules of the engine use although it stands above them, or is not in the list of the page."""
    order = re.findall(r"`(\w+)`", re.search(r"only those below it[^:]*:([^.]*)\.", page).group(1))
    wrong = []
    for path in sorted(root.rglob("*.rs")):
        own, inner = path.relative_to(root).parts[0].removesuffix(".rs"), path.stem in ("tests", "testing") or "testing" in path.parts
        if own == "lib" or inner:
            continue
        code = re.sub(r"^\s*//.*", "", path.read_text().split("#[cfg(test)]\nmod tests {")[0], flags=re.M)
        used = re.findall(r"\bcrate::(\w+)", code)
        for group in re.findall(r"\bcrate::\{((?:[^{}]|\{[^{}]*\})*)\}", code):
            used += re.findall(r"(?:^|,)\s*(\w+)", re.sub(r"\{[^{}]*\}", "", group))
        below = order[order.index(own) + 1 :] if own in order else []
        # Names that begin with a capital are of the crate's front door, and come from below.
        wrong += [f"{path}: {own} uses {name}" for name in used if name in order and name != own and name not in below]
        wrong += [] if own in order else [f"{path}: {PAGE} does not say where {own} stands"]
    return sorted(set(wrong))


def main() -> int:
    page = PAGE.read_text()
    crates = table(page)
    if sys.argv[1:] == ["--draw"]:
        PAGE.write_text(PICTURE.sub(lambda _: picture(crates), page, count=1))
        return 0
    wrong = differences(crates, built()) + upward(crates) + misplaced(crates) + [line for crate in crates for line in unkept(crate)]
    wrong += modules(page, pathlib.Path("engine/src"))
    drawn = PICTURE.search(page)
    if drawn is None or drawn[0] != picture(crates):
        wrong.append(f"the picture in {PAGE} is not the table's: `python3 checks/layers.py --draw` draws it anew")
    print("\n".join(wrong) or f"{len(crates)} crates use each other as {PAGE} says")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
