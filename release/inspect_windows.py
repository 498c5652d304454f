"""Inspects what was built for Windows: a processor that is not here cannot run it.

    release/inspect_windows.py TARGET BUILT FOLDER      as release/build.sh and release/wheel.sh filled them

Each file must be for that processor, and need nothing but what Windows itself has. The one moment that it may say is that of the
commit. Each library must export its functions and no others.
"""

import pathlib
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator

import pefile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MACHINES = {"x86_64": "IMAGE_FILE_MACHINE_AMD64", "i686": "IMAGE_FILE_MACHINE_I386", "aarch64": "IMAGE_FILE_MACHINE_ARM64"}
WHEELS = {"x86_64": "win_amd64", "i686": "win32", "aarch64": "win_arm64"}
MODULE = "_schwann.pyd"
# What every Windows 10 has, beside the sets whose names begin with api-ms-win.
SYSTEM = {"advapi32.dll", "bcrypt.dll", "bcryptprimitives.dll", "crypt32.dll", "iphlpapi.dll", "kernel32.dll", "msvcrt.dll", "ntdll.dll",
          "ole32.dll", "secur32.dll", "shell32.dll", "user32.dll", "userenv.dll", "winmm.dll", "ws2_32.dll"}


def functions() -> dict[str, set[str]]:
    """What each file exports."""
    lsl = (ROOT / "capi" / "symbols.txt").read_text().split("\n")
    buffer = (ROOT / "capi" / "fieldtrip" / "include" / "schwann_fieldtrip.h").read_text()
    return {"schwann.exe": set(), "lsl.dll": {line for line in lsl if line and line[0] != "#"},
            "fieldtripbuffer.dll": set(re.findall(r"\b(schwann_ft_\w+)\(", buffer)), MODULE: {"PyInit__schwann"}}


def files(processor: str, built: pathlib.Path, folder: pathlib.Path) -> Iterator[tuple[str, bytes]]:
    for path in (*built.glob("*.exe"), *built.glob("*.dll")):
        yield path.name, path.read_bytes()
    (wheel,) = folder.glob(f"schwann-*-{WHEELS[processor]}.whl")
    with zipfile.ZipFile(wheel) as packed:
        yield MODULE, packed.read(f"schwann/{MODULE}")


def committed() -> int:
    return int(subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=True, capture_output=True).stdout)


def faults(name: str, data: bytes, machine: str, moment: int, wanted: set[str]) -> list[str]:
    file, found = pefile.PE(data=data), []
    header = file.FILE_HEADER
    if header.Machine != pefile.MACHINE_TYPE[machine]:
        found.append(f"is for {pefile.MACHINE_TYPE.get(header.Machine, header.Machine)}, and not {machine}")
    if header.TimeDateStamp not in (0, moment):
        found.append(f"says when it was made: {header.TimeDateStamp}")
    needed = sorted({entry.dll.decode().lower() for entry in file.DIRECTORY_ENTRY_IMPORT})
    # Python's own library comes with the program that loads a module.
    there = SYSTEM | ({"python3.dll"} if name == MODULE else set())
    found += [f"needs {one}, which is not the system's" for one in needed if one not in there and not one.startswith("api-ms-win-")]
    exports = getattr(file, "DIRECTORY_ENTRY_EXPORT", None)
    names = {symbol.name.decode() for symbol in exports.symbols if symbol.name} if exports else set()
    found += [f"lacks {one}" for one in sorted(wanted - names)] + [f"exports {one}" for one in sorted(names - wanted)[:10]]
    print(f"{name}: {machine}; {len(names)} functions; {', '.join(needed)}")
    return [f"{name} {fault}" for fault in found]


def main() -> None:
    processor, built, folder = sys.argv[1].split("-")[0], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    wanted, present, moment = functions(), dict(files(processor, built, folder)), committed()
    found = [f"there is no {name}" for name in wanted if name not in present]
    for name, data in present.items():
        found += faults(name, data, MACHINES[processor], moment, wanted.get(name, set()))
    print("\n".join(found) or "all of it is as Windows wants it")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
