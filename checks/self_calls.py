"""No error arm calls the function that it is in: what fails again and again would use up the stack.

An error arm is a match arm of `Err`, the block of `if let Err`, the `else` of `let Ok` or `if let Ok`, and a closure of
`or_else`, `unwrap_or_else` or `map_err`. A loop does the same without a stack.
"""

import pathlib
import re
import sys

SOURCES = ("aead", "bench", "capi", "cli", "dash", "engine", "fieldtrip", "firmware", "fuzz", "mse", "proto", "python", "recorder", "session", "xdf")
PAIRS = {"(": ")", "[": "]", "{": "}"}
# Comments, texts and characters; a lifetime is no character.
SKIPPED = re.compile(
    r"//[^\n]*|/\*.*?\*/|b?r(?P<hashes>#*)\".*?\"(?P=hashes)|b?\"(?:\\.|[^\"\\])*\"|b?'(?:\\[^\n]*?|[^'\\\n])'", re.DOTALL)
ARM = re.compile(r"\bErr\s*\(")
BLOCK = re.compile(r"\bif\s+let\s+Err\s*\(")
ELSE = re.compile(r"\blet\s+Ok\s*\(")
CLOSURE = re.compile(r"\.(?:or_else|unwrap_or_else|map_err)\s*\(")
FUNCTION = re.compile(r"\bfn\s+(\w+)")
METHOD = re.compile(r"\s*(?:<[^(]*>)?\s*\(\s*(?:&\s*(?:'\w+\s+)?)?(?:mut\s+)?self\b")


def bare(text: str) -> str:
    """The text with blanks in place of all that is not code, line by line as before."""
    return SKIPPED.sub(lambda skipped: re.sub(r"[^\n]", " ", skipped[0]), text)


def end_of(code: str, start: int) -> int:
    """Where the bracket at `start` is closed."""
    open_ones = []
    for place in range(start, len(code)):
        if code[place] in PAIRS:
            open_ones.append(PAIRS[code[place]])
        elif open_ones and code[place] == open_ones[-1]:
            open_ones.pop()
            if not open_ones:
                return place
    return len(code)


def find_outside(code: str, start: int, end: int, wanted: str) -> int:
    """Where one of the `wanted` characters is first, outside of brackets; `end` if there is none."""
    place = start
    while place < end:
        if code[place] in wanted:
            return place
        if code[place] in ")]}":
            return end
        place = end_of(code, place) + 1 if code[place] in PAIRS else place + 1
    return end


def match_arm(code: str, pattern: int, end: int) -> tuple[int, int] | None:
    """The expression of the match arm whose pattern has `Err` at `pattern`, if it is one."""
    arrow = code.find("=>", pattern, end)
    place = find_outside(code, pattern, end, ";{")
    if arrow < 0 or place < arrow:
        return None
    start = arrow + 2 + len(code[arrow + 2 : end]) - len(code[arrow + 2 : end].lstrip())
    if code[start : start + 1] == "{":
        return start, end_of(code, start)
    return start, find_outside(code, start, end, ",")


def error_arms(code: str, start: int, end: int):
    """All error arms between `start` and `end`."""
    for found in ARM.finditer(code, start, end):
        if arm := match_arm(code, found.start(), end):
            yield arm
    for found in BLOCK.finditer(code, start, end):
        brace = find_outside(code, found.start(), end, "{;")
        yield brace, end_of(code, brace)
    for found in ELSE.finditer(code, start, end):
        word = re.compile(r"\belse\b\s*\{").search(code, found.start(), end)
        brace = find_outside(code, found.start(), end, "{;")
        if code[brace : brace + 1] == "{" and not code[:brace].rstrip().endswith("else"):
            # `if let Ok(..) = .. { .. } else { .. }`
            word = re.compile(r"\s*else\s*\{").match(code, end_of(code, brace) + 1)
        if word and word.end() <= end:
            yield word.end() - 1, end_of(code, word.end() - 1)
    for found in CLOSURE.finditer(code, start, end):
        yield found.end() - 1, end_of(code, found.end() - 1)


def faults(text: str) -> list[tuple[int, str]]:
    """Lines and names of functions that an error arm of their own calls."""
    code, wrong = bare(text), set()
    for function in FUNCTION.finditer(code):
        brace = find_outside(code, function.end(), len(code), "{;")
        if code[brace : brace + 1] != "{":
            continue
        name, end = function[1], end_of(code, brace)
        # A method is called through its value, and a free function of the same name is another one.
        bare_name = "" if METHOD.match(code, function.end()) else r"|(?<![\w.:])"
        own = re.compile(rf"(?:\bself\s*\.\s*|\bSelf\s*::\s*{bare_name}){name}\s*\(")
        for start, stop in error_arms(code, brace + 1, end):
            for call in own.finditer(code, start, stop + 1):
                wrong.add((code.count("\n", 0, call.start()) + 1, name))
    return sorted(wrong)


FAULTY = {
    "an arm": "fn f(&self) -> R { match x() { Ok(n) => n, Err(A | B) => self.f(), Err(e) => e.into() } }",
    "a guarded arm": "fn f(n: u8) -> R { match x() { Err(e) if is(&e) => return f(n), other => other } }",
    "an arm's block": "fn f() -> R { loop { match x() { Err(_) => { wait(); return f(); } Ok(n) => break n } } }",
    "if let": "fn f() -> R { if let Err(e) = x() { say(e); return Self::f(); } done() }",
    "let else": "fn f() -> R { let Ok(n) = x() else { return f() }; n }",
    "if let else": "fn f() -> R { if let Ok(n) = x() { n } else { f() } }",
    "a closure": "fn f(&self) -> R { x().or_else(|_| self.f()) }",
}
SOUND = {
    "a loop": "fn f() -> R { loop { match x() { Ok(n) => return n, Err(_) => {} } } }",
    "another's": "fn f(&self) -> R { match x() { Err(_) => self.inner.f(), Ok(n) => n } }",
    "the good arm": "fn f(n: u8) -> R { match x() { Err(e) => e.into(), Ok(_) => f(n - 1) } }",
    "a comment": "fn f() -> R { match x() { Err(_) => g(), /* Err(_) => f() */ Ok(n) => n } }",
    "a free function": "fn f(&self) -> R { match x() { Err(_) => f(1), Ok(n) => n } }",
    "a text": 'fn f() -> R { match x() { Err(_) => g("f()"), Ok(n) => n } }',
}


def main() -> int:
    for what, text in FAULTY.items():
        assert faults(text), f"the check does not see {what}"
    for what, text in SOUND.items():
        assert not faults(text), f"the check takes {what} for a fault"
    files = [path for folder in SOURCES for path in sorted(pathlib.Path(folder).rglob("*.rs")) if "target" not in path.parts]
    wrong = [f"{path}:{line}: an error arm of {name} calls {name} again; a loop needs no stack"
             for path in files for line, name in faults(path.read_text())]
    print("\n".join(wrong) or f"{len(files)} files: no error arm calls its own function")
    return bool(wrong) or not files


if __name__ == "__main__":
    sys.exit(main())
