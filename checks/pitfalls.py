"""Compares the pitfalls with the tests that show what becomes of them."""

import pathlib
import re

SPEC = pathlib.Path("docs/spec")


def rows(text: str) -> list[tuple[str, str]]:
    """The number and the last column of each row whose first column is a number."""
    table = [line.strip("|").split("|") for line in text.splitlines() if re.match(r"\| \d+a? \|", line)]
    return [(row[0].strip(), row[-1].strip()) for row in table]


def defines(path: pathlib.Path, name: str) -> bool:
    """Whether the file defines a function of that name."""
    kinds = {".rs": r"\bfn ", ".py": r"^def ", ".c": r"^static \w+ \*?", ".cpp": r"^static \w+ \*?"}
    return re.search(kinds[path.suffix] + re.escape(name) + r"\b\s*[(<]", path.read_text(), re.MULTILINE) is not None


def main() -> None:
    # The constants at the head of the specification are tables with numbers, too.
    pitfalls = [number for number, _ in rows((SPEC / "lsl-wire.md").read_text().split("\n## Pitfalls")[1])]
    text = (SPEC / "lsl-pitfalls.md").read_text()
    shown = rows(text)
    faults = [f"pitfall {number} is missing" for number in pitfalls if number not in dict(shown)]
    faults += [f"there is no pitfall {number}" for number, _ in shown if number not in pitfalls]
    if len(dict(shown)) != len(shown):
        faults.append("a pitfall is listed twice")
    faults += [f"pitfall {number} names no test and no reason" for number, by in shown
               if "#" not in by and "not run here" not in by]
    tests = re.findall(r"`([^`#]+)#(\w+)`", text)
    for path, name in tests:
        file = pathlib.Path(path)
        if not file.is_file() or not defines(file, name):
            faults.append(f"{path} has no {name}")
    if faults:
        raise SystemExit("\n".join(faults))
    print(f"{len(pitfalls)} pitfalls, {len(set(tests))} tests")


if __name__ == "__main__":
    main()
