"""`schwann run` and `schwann swap` in places that are awkward: long and foreign paths, folders that cannot be written, other versions."""

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
WHICH = "import ctypes, os; lsl = ctypes.CDLL({}); lsl.lsl_library_info.restype = ctypes.c_char_p; " \
        "print(lsl.lsl_library_info().decode(), os.environ['PYLSL_LIB'])"
BY_NAME, BY_VARIABLE = WHICH.format("'liblsl.so'"), WHICH.format("os.environ['PYLSL_LIB']")
NOBODY = 65_534


def installed(folder):
    """Our program and library in a folder, as an archive puts them there."""
    for place, source in (("bin/schwann", PROGRAM), ("lib/liblsl.so", OURS)):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, folder / place)
    return folder / "bin/schwann"


def run(program, *arguments, tmp_path, **more):
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_STATE_HOME": str(tmp_path / "state"), **more.pop("env", {})}
    done = subprocess.run([program, *map(str, arguments)], env=environment, capture_output=True, text=True, timeout=60, **more)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", ["Programme für Köln (neu)", "/".join(["a long folder name of 50 letters " + "x" * 16] * 6)])
def test_our_library_is_loaded_wherever_it_was_unpacked(tmp_path, name):
    program = installed(tmp_path / name)
    for code in (BY_NAME, BY_VARIABLE):
        code, out, error = run(program, "run", "--", sys.executable, "-c", code, tmp_path=tmp_path)
        assert code == 0 and out.startswith("Schwann") and str(program.parent.parent) in out, (out, error)


def test_two_versions_side_by_side_each_bring_their_own_library(tmp_path):
    for name in ("1.0", "2.0", "1.0"):
        program = installed(tmp_path / name)
        code, out, error = run(program, "run", "--", sys.executable, "-c", BY_VARIABLE, tmp_path=tmp_path)
        assert code == 0 and out.strip().endswith(str(tmp_path / name / "lib/liblsl.so")), (out, error)


def test_another_library_on_the_loaders_path_is_passed_over(tmp_path):
    (tmp_path / "original").mkdir()
    shutil.copy(REAL_118, tmp_path / "original/liblsl.so")
    original = {"LD_LIBRARY_PATH": str(tmp_path / "original"), "PYLSL_LIB": REAL_118}
    code, out, error = run(PROGRAM, "run", "--", sys.executable, "-c", BY_NAME, tmp_path=tmp_path, env=original)
    assert code == 0 and out.startswith("Schwann"), (out, error)


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    code, out, error = run(PROGRAM, "run", "--", "true", tmp_path=tmp_path, env={"XDG_CACHE_HOME": "/proc/nowhere"})
    assert (code, out) == (3, "") and "/proc/nowhere" in error and len(error.splitlines()) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_a_program_of_another_user_is_left_as_it_was(tmp_path):
    # Folders of tests are their user's alone; another user needs a place that everyone may enter.
    place = pathlib.Path("/var/tmp") / f"schwann-{os.getpid()}"
    try:
        library = place / "LabRecorder/liblsl.so"
        library.parent.mkdir(parents=True)
        shutil.copy(REAL_118, library)
        program, state = installed(place / "schwann"), place / "state"
        state.mkdir()
        os.chown(state, NOBODY, NOBODY)
        code, _, error = run(program, "swap", library, tmp_path=state, user=NOBODY, cwd="/")
        assert code == 3 and str(library) in error and "as the user that installed it" in error, error
        assert library.read_bytes() == pathlib.Path(REAL_118).read_bytes() and len(list(library.parent.iterdir())) == 1
    finally:
        shutil.rmtree(place, ignore_errors=True)


def test_a_library_in_use_is_swapped_and_its_program_goes_on(tmp_path):
    library = tmp_path / "Recorder/liblsl.so"
    library.parent.mkdir()
    shutil.copy(REAL_118, library)
    code = f"import ctypes; lsl = ctypes.CDLL({str(library)!r}); print('loaded', flush=True); input(); lsl.lsl_local_clock(); print('well')"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "loaded\n"
        assert run(PROGRAM, "swap", "--library", OURS, library, tmp_path=tmp_path)[0] == 0
        assert running.communicate("\n", timeout=60)[0] == "well\n"
