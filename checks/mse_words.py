"""Fails if a document or a doc comment calls MSE secure or confidential, or says that it protects anything.

MSE is obfuscation. A sentence that names MSE (or RC4, or its proxy) together with a word of praise must also
contain a denial.
"""

import pathlib
import re
import subprocess
import sys

NAMES = re.compile(r"\b(MSE|RC4|Message Stream Encryption|protocol encryption)\b")
PRAISE = re.compile(
    r"\b(secure[sd]?|securely|security|confidential|confidentiality|confidentially|secret|secrecy|private|privacy"
    r"|protects?|protected|protection|safe|safely|tamper-?proof|authenticated|authenticates?|end-to-end)\b",
    re.IGNORECASE,
)
DENIAL = re.compile(
    r"\b(not|no|nothing|never|neither|nor|without|cannot|lacks?|weak|broken|nobody|only obfuscation|isn't|doesn't|"
    r"beyond|instead of)\b",
    re.IGNORECASE,
)
# Terms of the protocol: its shared key, its private exponent and its private methods are called so by everyone.
TERMS = re.compile(
    r"shared secret|private (method|extension|exponent|key|bit|torrent|address|aes)s?|\(private\)|short secret"
    r"|(leading zero|first byte) .*secret|`?secure-session`?|secure session|private to",
    re.IGNORECASE,
)


def sentences(text):
    text = re.sub(r"^\s*//[/!]?", "", text, flags=re.MULTILINE)
    text = re.sub(r"\n\s*\n|\n\s*[-*|#]", ". ", text)
    return re.split(r"(?<=[.!?])\s+", re.sub(r"\s+", " ", text))


def wrong(text):
    for sentence in sentences(text):
        bare = TERMS.sub("", sentence)
        if NAMES.search(bare) and PRAISE.search(bare) and not DENIAL.search(bare):
            yield sentence.strip()


def prose(path):
    """A document whole; of source code the comments and the strings people see."""
    text = path.read_text(errors="replace")
    if path.suffix == ".md":
        return re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return "\n".join(re.findall(r"//[/!]? ?(.*)", text)) + "\n\n" + "\n\n".join(re.findall(r'"([^"\n]{20,})"', text))


def main():
    # The lint can fail, or it proves nothing.
    assert list(wrong("MSE keeps your recordings confidential.")) and list(wrong("A secure transport: RC4."))
    assert not list(wrong("MSE is not secure.")) and not list(wrong("The shared secret of MSE is 96 bytes."))
    files = subprocess.check_output(["git", "ls-files", "*.md", "*.rs", "*.toml"], text=True).split()
    found = 0
    for name in files:
        path = pathlib.Path(name)
        if path.exists() and not name.startswith("target/"):
            for sentence in wrong(prose(path)):
                print(f"{name}: {sentence[:200]}")
                found += 1
    print(f"{found} sentences praise MSE" if found else f"{len(files)} files: none praises MSE")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
