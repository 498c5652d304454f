"""Compares what the guide names with the code: tables of its reference pages, commands and options, links between pages."""

import pathlib
import re
import shlex
import subprocess

TABLES = {
    # Page: what is in the code (files, pattern).
    "reference/exit-codes.md": (("cli/src/exit.rs", "cli/src/stop.rs"), r"^ +\w+ = (\d+),$|^const (?:FAILED|INTERRUPTED): \w+ = (\d+);"),
    "reference/errors.md#functions": (("capi/include/lsl/common.h",), r"^\s*(lsl_\w+_error)\s*= "),
    "reference/errors.md#refusals": (("session/src/refusal.rs",), r'^ +Self::\w+ => "([^"]+)",'),
    "reference/errors.md#findings": (("cli/src/doctor",), r'(?:Weight::\w+|weight),\s*"([a-z-]+)"|\("([a-z-]+)", Weight::|\(\s*"([a-z-]+)",\s*String::from'),
}
SETTING = r'"((?:log|ports|multicast|lab|tuning)\.\w+)"'
RELAY = r'raw\("relay", "(\w+)"\)'
SECURITY = r'raw(?:_in_each)?\("security", "(\w+)"\)'
VARIABLE = r'"((?:SCHWANN|LSLAPICFG|XDG|PYLSL|MNE_LSL|LSL)[A-Z_]*)"'
# Of tests, of which people set none.
OF_TESTS = {"SCHWANN_TEST_ALONE"}


def source(root: pathlib.Path, *places: str) -> str:
    """The code without its tests."""
    paths = [path for place in places for path in ([root / place] if (root / place).is_file() else sorted((root / place).rglob("*.rs")))]
    texts = (path.read_text() for path in paths if path.name != "tests.rs" and "tests" not in path.relative_to(root).parts)
    return "\n".join(text.split("\n#[cfg(test)]\nmod tests {")[0] for text in texts)


def found(pattern: str, text: str) -> set[str]:
    return {next(filter(None, match)) if isinstance(match, tuple) else match for match in re.findall(pattern, text, re.M)}


def first_column(page: str) -> set[str]:
    """The first words in backticks of every row of a page's tables."""
    return {name for row in re.findall(r"^\| (`[^|]+`) \|", page, re.M) for name in re.findall(r"`([^`]+)`", row)}


def section(page: str, anchor: str) -> str:
    if not anchor:
        return page
    parts = re.split(r"^## (.+)$", page, flags=re.M)
    return next((text for title, text in zip(parts[1::2], parts[2::2]) if slug(title) == anchor), "")


def slug(title: str) -> str:
    return re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-")


def differences(what: str, written: set[str], there: set[str]) -> list[str]:
    return ([f"{what}: `{name}` does not exist" for name in sorted(written - there)]
            + [f"{what}: `{name}` is missing" for name in sorted(there - written)])


def tables(root: pathlib.Path, pages: pathlib.Path) -> list[str]:
    problems = []
    for place, (files, pattern) in TABLES.items():
        page, _, anchor = place.partition("#")
        there = found(pattern, source(root, *files))
        if not there:
            problems.append(f"{place}: nothing in {files} looks like what it lists")
        problems += differences(place, first_column(section((pages / page).read_text(), anchor)), there)
    return problems


def settings(root: pathlib.Path, pages: pathlib.Path) -> list[str]:
    there = found(SETTING, source(root, "engine/src/config.rs", "engine/src/config"))
    there |= {f"relay.{key}" for key in found(RELAY, source(root, "hub/src"))}
    there |= {f"security.{key}" for key in found(SECURITY, source(root, "engine/src", "recorder/src"))}
    # The lists of streams by their policy.
    there |= {f"security.{policy}" for policy in ("require", "prefer", "off")}
    page = (pages / "reference/configuration.md").read_text()
    written = {f"{name.strip('[]')}.{key}" for name, text in zip(*[iter(re.split(r"^## `(\[\w+\])`$", page, flags=re.M)[1:])] * 2)
               for key in first_column(text)}
    return differences("reference/configuration.md", written, there)


def variables(root: pathlib.Path, pages: pathlib.Path) -> list[str]:
    code = source(root, "engine/src", "cli/src", "dash/src", "recorder/src", "session/src", "capi/src")
    written = first_column((pages / "reference/environment.md").read_text())
    literals = set(re.findall(r'"([A-Z][A-Z_]+)"', code))
    return differences("reference/environment.md", written, found(VARIABLE, code) - OF_TESTS | written & literals)


class Commands:
    """The commands of the program and their options, as their help says."""

    def __init__(self, program: pathlib.Path) -> None:
        self.program, self.known = program, {}

    def help(self, *words: str) -> str:
        if words not in self.known:
            self.known[words] = subprocess.run([self.program, *words, "--help"], capture_output=True, text=True).stdout
        return self.known[words]

    def problem(self, line: str) -> str | None:
        """What of a command line does not exist."""
        words, command = shlex.split(line, comments=True)[1:], ()
        for word in words:
            if word == "--" or word in ("|", "||", "&&", ";", ">", "&"):
                break
            if word.startswith("-"):
                if not re.search(rf"^ +(?:-\w, )?{re.escape(word.split('=')[0])}\b", self.help(*command), re.M) and word not in ("-h", "-o", "--help"):
                    return f"`schwann {' '.join(command)}` has no option {word}"
            elif re.search(rf"^  {re.escape(word)}(?:  |$)", commands_of(self.help(*command)), re.M):
                command += (word,)
            elif commands_of(self.help(*command)) and re.fullmatch(r"[a-z-]+", word):
                return f"`schwann {' '.join(command)}` has no command {word}"
        return None


def commands_of(text: str) -> str:
    return text.partition("\nCommands:\n")[2].partition("\n\n")[0]


def spoken(pages: pathlib.Path, program: pathlib.Path, root: pathlib.Path) -> list[str]:
    """Commands, variables and links of every page."""
    commands, problems = Commands(program), []
    known = first_column((pages / "reference/environment.md").read_text()) | {"SCHWANN"}
    for path in sorted(pages.rglob("*.md")):
        text, name = path.read_text(), path.relative_to(pages)
        lines = re.findall(r"^ *(schwann [^\n]+)$", "\n".join(re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)), re.M)
        lines += re.findall(r"`(schwann [^`\n]+)`", text)
        problems += [f"{name}: {problem}" for line in lines if (problem := commands.problem(line))]
        problems += [f"{name}: no variable {word}" for word in sorted(set(re.findall(r"\b(?:SCHWANN|LSLAPICFG)[A-Z_]*\b", text)) - known)]
        for target, _, anchor in (link.partition("#") for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link):
            file = (path.parent / target).resolve() if target else path
            if not file.exists():
                problems.append(f"{name}: the link {target} leads nowhere")
            elif anchor and anchor not in map(slug, re.findall(r"^#+ (.+)$", file.read_text(), re.M)):
                problems.append(f"{name}: {target}#{anchor} leads nowhere")
    return problems


def problems(root: pathlib.Path, pages: pathlib.Path, program: pathlib.Path) -> list[str]:
    return tables(root, pages) + settings(root, pages) + variables(root, pages) + spoken(pages, program, root)
