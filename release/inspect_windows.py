"""Inspects what was built for Windows: a processor that is not here cannot run it.

    release/inspect_windows.py TARGET FOLDER      as release/build.sh filled it

Each file must be for that processor, and need nothing but what Windows itself has. The one moment that it may say is that of the
commit. Each library must export its functions and no others.
"""

import pathlib
import re
import subprocess
import sys

import pefile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MACHINES = {"x86_64": "IMAGE_FILE_MACHINE_AMD64", "i686": "IMAGE_FILE_MACHINE_I386", "aarch64": "IMAGE_FILE_MACHINE_ARM64"}
# What every Windows 10 has, beside the sets whose names begin with api-ms-win.
SYSTEM = {"advapi32.dll", "bcrypt.dll", "bcryptprimitives.dll", "crypt32.dll", "iphlpapi.dll", "kernel32.dll", "msvcrt.dll", "ntdll.dll",
          "ole32.dll", "secur32.dll", "shell32.dll", "user32.dll", "userenv.dll", "winmm.dll", "ws2_32.dll"}


def functions() -> dict[str, set[str]]:
    """What each file exports."""
    lsl = (ROOT / "capi" / "symbols.txt").read_text().split("\n")
    buffer = (ROOT / "capi" / "fieldtrip" / "include" / "schwann_fieldtrip.h").read_text()
    return {"schwann.exe": set(), "lsl.dll": {line for line in lsl if line and line[0] != "#"},
            "fieldtripbuffer.dll": set(re.findall(r"\b(schwann_ft_\w+)\(", buffer))}


def committed() -> int:
    return int(subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=True, capture_output=True).stdout)


def faults(path: pathlib.Path, machine: str, moment: int, wanted: set[str]) -> list[str]:
    file, found = pefile.PE(str(path)), []
    header = file.FILE_HEADER
    if header.Machine != pefile.MACHINE_TYPE[machine]:
        found.append(f"is for {pefile.MACHINE_TYPE.get(header.Machine, header.Machine)}, and not {machine}")
    if header.TimeDateStamp not in (0, moment):
        found.append(f"says when it was made: {header.TimeDateStamp}")
    needed = sorted({entry.dll.decode().lower() for entry in file.DIRECTORY_ENTRY_IMPORT})
    found += [f"needs {name}, which is not the system's" for name in needed if name not in SYSTEM and not name.startswith("api-ms-win-")]
    exports = getattr(file, "DIRECTORY_ENTRY_EXPORT", None)
    names = {symbol.name.decode() for symbol in exports.symbols if symbol.name} if exports else set()
    found += [f"lacks {name}" for name in sorted(wanted - names)] + [f"exports {name}" for name in sorted(names - wanted)[:10]]
    print(f"{path.name}: {machine}; {len(names)} functions; {', '.join(needed)}")
    return [f"{path.name} {fault}" for fault in found]


def main() -> None:
    target, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    machine, moment = MACHINES[target.split("-")[0]], committed()
    found = [fault for name, wanted in functions().items() for fault in faults(folder / name, machine, moment, wanted)]
    print("\n".join(found) or "all of it is as Windows wants it")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
