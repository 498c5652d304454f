"""`schwann swap` in the folders of programs that bring the original's library along."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import conftest

PROGRAM = os.environ.get("SCHWANN")
OURS, REAL_118 = (conftest.PATHS.get(name) for name in (conftest.OURS, conftest.REAL_118))
pytestmark = pytest.mark.skipif(not PROGRAM, reason="SCHWANN is not set")
# Where LabRecorder, MATLAB's and Unity's packages and the one for node have it.
PLACES = ["LabRecorder/lib/liblsl.so.1.18.0", "liblsl-Matlab/bin/liblsl.so", "Unity game/Assets/Plugins/LSL/x86_64/liblsl64.so",
          "Köln/node_modules/node-labstreaminglayer/prebuild/liblsl.so"]
ARM = 183


class Computer:
    def __init__(self, folder):
        self.folder, self.programs = folder, folder / "programs"
        for place in PLACES:
            self.add(place, pathlib.Path(REAL_118).read_bytes())
        (self.programs / "LabRecorder/lib/liblsl.so").symlink_to("liblsl.so.1.18.0")

    def add(self, place, content):
        file = self.programs / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        return file

    def swap(self, *arguments, library=OURS):
        environment = {**os.environ, "XDG_STATE_HOME": str(self.folder / "state")}
        where = [] if {"--undo", "--list"} & set(arguments) else ["--library", library]
        done = subprocess.run([PROGRAM, "swap", *where, *map(str, arguments)], env=environment, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def loaded(self, place):
        """What a program says that loads the library there."""
        code = f"import ctypes; lsl = ctypes.CDLL({str(self.programs / place)!r}); lsl.lsl_library_info.restype = ctypes.c_char_p; " \
               "print(lsl.lsl_library_info().decode())"
        return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60).stdout

    def tree(self):
        return {str(file.relative_to(self.programs)): file.read_bytes() for file in self.programs.rglob("*") if file.is_file()}


@pytest.fixture
def computer(tmp_path):
    return Computer(tmp_path)


def test_every_library_of_a_folder_is_ours_until_it_is_taken_back(computer):
    before = computer.tree()
    code, out, error = computer.swap(computer.programs)
    assert (code, error) == (0, "") and out.count("swapped") == len(PLACES), out
    for place in [*PLACES, "LabRecorder/lib/liblsl.so"]:
        assert "Schwann" in computer.loaded(place), place
    assert (computer.programs / "LabRecorder/lib/liblsl.so").is_symlink()
    assert computer.swap("--list")[1].count(": ours") == len(PLACES)

    code, out, _ = computer.swap(computer.programs)
    assert code == 0 and out.count("renewed") == len(PLACES), "a second time keeps what was kept"
    code, out, _ = computer.swap("--undo", computer.programs / "LabRecorder")
    assert code == 0 and out.count("taken back") == 1
    assert "Schwann" not in computer.loaded(PLACES[0]) and "Schwann" in computer.loaded(PLACES[1])
    assert computer.swap("--undo")[0] == 0
    assert computer.tree() == before, "byte for byte, and nothing beside it"
    assert computer.swap("--list")[1] == "no library was swapped\n"
    assert computer.swap("--undo")[0] == 1


def test_what_ours_cannot_serve_is_left_alone(computer):
    original = bytearray(pathlib.Path(REAL_118).read_bytes())
    original[18:20] = ARM.to_bytes(2, "little")
    computer.add("ARM/liblsl.so", original)
    source = computer.folder / "newer.c"
    source.write_text("void lsl_create_outlet(void) {}\nvoid lsl_of_tomorrow(void) {}\n")
    (computer.programs / "Newer").mkdir()
    subprocess.run(["cc", "-shared", "-fPIC", "-o", computer.programs / "Newer/liblsl.so", source], check=True)
    computer.add("Other/liblsl.so", b"no library")
    before = computer.tree()
    code, out, _ = computer.swap(computer.programs)
    assert code == 1 and out.count("swapped") == len(PLACES)
    assert "it is for Linux on aarch64, and ours for Linux on x86_64" in out
    assert "it is newer than ours: it has lsl_of_tomorrow" in out
    after = computer.tree()
    for place in ["ARM/liblsl.so", "Newer/liblsl.so", "Other/liblsl.so"]:
        assert after[place] == before[place]


def test_a_failure_leaves_the_program_as_it_was(computer):
    library = computer.programs / PLACES[0]
    blocked = library.with_name(library.name + ".schwann-new")
    blocked.mkdir()
    before = computer.tree()
    code, _, error = computer.swap(library)
    assert code == 3 and str(library) in error
    assert computer.tree() == before
    blocked.rmdir()
    assert computer.swap(library)[0] == 0

    # An update of the program brings its own library again: what was kept must not replace that.
    shutil.copy(REAL_118, library)
    code, out, _ = computer.swap("--undo")
    assert code == 1 and "replaced since by another library" in out
    assert library.read_bytes() == pathlib.Path(REAL_118).read_bytes()


def test_mistakes_are_named(computer):
    empty = computer.folder / "empty"
    empty.mkdir()
    code, out, _ = computer.swap(empty)
    assert code == 1 and "no LSL library in" in out
    code, _, error = computer.swap(computer.folder / "absent")
    assert code == 3 and "absent" in error
    code, _, error = computer.swap(computer.programs, library=REAL_118)
    assert code == 3 and "is not Schwann's library" in error
    assert computer.swap()[0] == 2


def test_ours_is_found_without_being_named(computer):
    environment = {**os.environ, "XDG_STATE_HOME": str(computer.folder / "state")}
    done = subprocess.run([PROGRAM, "swap", computer.programs / PLACES[1]], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "Schwann" in computer.loaded(PLACES[1])
