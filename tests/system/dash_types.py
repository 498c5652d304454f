"""The types of the client in JavaScript: a compiler takes what the documents show, and refuses what is wrong."""

import os
import pathlib
import shutil
import subprocess
import tempfile

from dash_lab import expect

NPM = pathlib.Path(__file__).resolve().parents[2] / "dash/npm"
USE = """// @ts-types="./schwann.d.ts"
import { Schwann, type Stream } from "./schwann.js";
const lab = new Schwann("http://127.0.0.1:16570", {
  token: "t",
  streams({ streams }) { const names: string[] = streams.map((stream: Stream) => stream.name); console.log(names); },
  quality(message) { console.log(message.found); },
  silent() {},
});
const at: number | null = lab.timeOf(1), bound: number = lab.bound;
const { text, time } = await lab.mark("start", 1);
const outlet = await lab.openOutlet({ name: "Phone", content: "Accelerometer", channels: 3, unit: "m/s²" });
outlet.push([[1, 2, 3]]);
lab.look();
lab.close();
console.log(text.length, time + bound);
"""
WRONG = (("a method that is not there", "lab.look()", "lab.peek()"), ("a word for a number of channels", "channels: 3", 'channels: "3"'),
         ("a token that is a number", 'token: "t"', "token: 1"), ("a field that streams have not", "streams({ streams })", "streams({ rows })"))


def check(folder: pathlib.Path, text: str) -> tuple[bool, str]:
    """Whether the compiler takes a program, and what it says."""
    (folder / "use.ts").write_text(text)
    environment = {**os.environ, "DENO_DIR": str(folder / "cache"), "DENO_NO_UPDATE_CHECK": "1", "NO_COLOR": "1"}
    ended = subprocess.run(["deno", "check", "use.ts"], cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    return ended.returncode == 0, ended.stderr


def check_types() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for part in ("schwann.js", "schwann.d.ts"):
            shutil.copy(NPM / part, folder)
        is_right, said = check(folder, USE)
        expect(is_right, "the compiler takes what the documents show", said)
        for what, before, after in WRONG:
            is_right, said = check(folder, USE.replace(before, after))
            expect(not is_right and "[ERROR]" in said, f"and refuses {what}", said)


if __name__ == "__main__":
    check_types()
