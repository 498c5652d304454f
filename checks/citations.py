"""Resolves the citations in comments: NAME §SECTION, where NAME is a specification of ours or a document that
docs/spec/references.md lists.

Several sections follow each other as `lsl-wire §4.1, §4.3`, `§2 and §3` or `§5 to §8`. In a specification of ours, a section
without a name is its own.
"""

import functools
import pathlib
import re
import subprocess

SPEC = pathlib.Path("docs/spec")
REFERENCES = SPEC / "references.md"
COMMENT = {
    ".rs": r"//[/!]?", ".c": r"//|/?\*+", ".h": r"//|/?\*+", ".hpp": r"//|/?\*+", ".cpp": r"//|/?\*+",
    ".py": r"#|\"\"\"", ".sh": r"#", ".toml": r"#",
}
SECTION = r"§[0-9A-Z]+(?:\.[0-9]+)*"
# The same document goes on: `, §4.3`, ` and §3`, ` to §8`, also behind a remark in brackets.
MORE = re.compile(r"[^.;:§]{0,48}")


@functools.cache
def sections(name: str) -> frozenset[str]:
    """The numbers of a specification's headings, and of the rules that a section lists: rule 2 of section 7 is §7.2."""
    numbers, heading = set(), ""
    for line in (SPEC / f"{name}.md").read_text().splitlines():
        if found := re.match(r"#{2,} (\d+(?:\.\d+)*)", line):
            heading = found.group(1)
            numbers.add(heading)
        elif found := re.match(r"(\d+)\. ", line):
            numbers.add(f"{heading}.{found.group(1)}")
    return frozenset(numbers)


def blocks(path: pathlib.Path):
    """The comments of a file, lines that follow each other as one text, each with its first line's number."""
    marker = re.compile(rf"\s*(?:{COMMENT[path.suffix]})(.*)")
    start, text = 0, []
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        whole = marker.match(line)
        comment = whole.group(1) if whole else line if "§" in line else None
        if (whole is None or comment is None) and text:
            yield start, " ".join(text)
            text = []
        if comment is None:
            continue
        start = start if text else number
        text.append(comment.strip())
        if whole is None:
            yield start, " ".join(text)
            text = []
    if text:
        yield start, " ".join(text)


def faults(text: str, names: re.Pattern, own: str | None = None):
    """What is wrong with the citations in a text."""
    document, end = own, 0
    for found in re.finditer(rf"(?:({names.pattern}) ?)?({SECTION})", text):
        name, section = found.group(1), found.group(2).lstrip("§")
        if name:
            document = name
        elif not MORE.fullmatch(text[end : found.start()]):
            document = own
        end = found.end()
        if document is None:
            yield f"§{section} of which document?"
        elif (SPEC / f"{document}.md").exists() and section not in sections(document):
            yield f"{document} has no §{section}"


def main() -> None:
    ours = [path.stem for path in SPEC.glob("*.md")]
    listed = re.findall(r"^\| `([^`]+)` \|", REFERENCES.read_text(), re.M)
    names = re.compile("|".join([r"RFC \d+", *map(re.escape, sorted(ours + listed, key=len, reverse=True))]))
    wrong, count = [], 0
    files = subprocess.check_output(["git", "ls-files"], text=True).splitlines()
    for path in map(pathlib.Path, files):
        # This file writes of citations.
        if path.suffix in COMMENT and path.exists() and path.name != "citations.py":
            for line, text in blocks(path):
                if "§" in text:
                    count += text.count("§")
                    wrong += [f"{path}:{line}: {fault}" for fault in faults(text, names)]
    for name in ours:
        # Other documents are cited there by name; what has none is a section of the specification itself.
        for line, text in enumerate((SPEC / f"{name}.md").read_text().splitlines(), 1):
            wrong += [f"{SPEC}/{name}.md:{line}: {fault}" for fault in faults(text, names, own=name)]
    print(*wrong, sep="\n")
    if wrong:
        raise SystemExit(f"{len(wrong)} citations lead nowhere: write NAME §SECTION; {REFERENCES} lists what is not ours")
    print(f"{count} citations in comments lead to a section that exists")


if __name__ == "__main__":
    main()
