"""Every name and every way by which programs and wrappers find liblsl leads to ours."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

LIBRARY = pathlib.Path(os.environ.get("SCHWANN_LIBLSL", "liblsl.so")).resolve()
SCHWANN = os.environ.get("SCHWANN", "schwann")
WHAT_IS_LOADED = """
import ctypes, os, sys
library = ctypes.CDLL(os.environ.get(sys.argv[1], sys.argv[1]))
library.lsl_library_info.restype = ctypes.c_char_p
print(library.lsl_library_info().decode())
"""
PROGRAM = """
#include <stdio.h>
#include "lsl_c.h"
int main(void) { puts(lsl_library_info()); return 0; }
"""
HEADERS = pathlib.Path(__file__).resolve().parents[2] / "capi" / "include"


def output(*command, **changes):
    """What a command prints; without a loader's path of its own."""
    clean = {name: value for name, value in os.environ.items() if name not in ("LD_LIBRARY_PATH", "PYLSL_LIB")}
    done = subprocess.run(command, env={**clean, **changes}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def linked(folder, *arguments):
    """A C program that is linked with the library."""
    source, program = folder / "program.c", folder / "program"
    source.write_text(PROGRAM)
    output("cc", f"-I{HEADERS}", "-o", str(program), str(source), *arguments, "-llsl")
    return str(program)


@pytest.mark.parametrize("name", [
    "liblsl.so",  # dlopen of "lsl": C#, Node.js, JNA in new wrappers
    "liblsl.so.2",  # programs that were linked: LabRecorder, MATLAB's MEX files, C, C++ and Rust
    "liblsl64.so",  # Java on Linux, Unity, old pylsl
    "PYLSL_LIB", "MNE_LSL_LIB",
    "LSL_LIB",  # bsl
])
def test_run_leads_every_name_to_our_library(name, tmp_path):
    told = output(SCHWANN, "run", "--library", str(LIBRARY), "--", sys.executable, "-c", WHAT_IS_LOADED, name,
                  XDG_CACHE_HOME=str(tmp_path))
    assert told.startswith("Schwann "), told


def test_a_linked_program_finds_the_library_where_it_was_built(tmp_path):
    program = linked(tmp_path, f"-L{LIBRARY.parent}", f"-Wl,-rpath,{LIBRARY.parent}")
    assert output(program).startswith("Schwann ")
    assert output(linked(tmp_path, f"-L{LIBRARY.parent}"), LD_LIBRARY_PATH=str(LIBRARY.parent)).startswith("Schwann ")


def test_run_leads_a_linked_program_to_our_library(tmp_path):
    program = linked(tmp_path, f"-L{LIBRARY.parent}")
    told = output(SCHWANN, "run", "--library", str(LIBRARY), "--", program, XDG_CACHE_HOME=str(tmp_path))
    assert told.startswith("Schwann "), told


def test_the_loader_links_the_installed_library_under_its_second_name(tmp_path):
    ldconfig = shutil.which("ldconfig", path=f"{os.environ['PATH']}:/sbin:/usr/sbin")
    if not ldconfig:
        pytest.skip("no ldconfig here")
    folder = tmp_path / "lib"
    folder.mkdir()
    shutil.copy(LIBRARY, folder / "liblsl.so")
    output(ldconfig, "-N", "-n", str(folder))
    assert output(linked(tmp_path, f"-L{folder}", f"-Wl,-rpath,{folder}")).startswith("Schwann ")
