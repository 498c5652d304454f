"""Inspects what was built for macOS, because it cannot be run here.

    release/inspect_macos.py BUILT FOLDER      as release/build.sh and release/wheel.sh filled them

Every half must be there, begin with macOS 11, need nothing but the system's own libraries, and have a signature that fits each
page: an Apple processor runs nothing else. The library must have the name that programs ask for, and every function.
"""

import hashlib
import pathlib
import struct
import sys
import tempfile
import zipfile

from macholib.MachO import MachO
from macholib.mach_o import CPU_TYPE_NAMES, LC_BUILD_VERSION, LC_CODE_SIGNATURE, LC_ID_DYLIB, LC_LOAD_DYLIB, LC_VERSION_MIN_MACOSX
from macholib.SymbolTable import SymbolTable

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODULE = "schwann/_schwann.abi3.so"
FILES = {"schwann": None, "liblsl.dylib": "@rpath/liblsl.2.dylib", "libfieldtripbuffer.dylib": ""}
OLDEST = (11, 0)
SYSTEM = ("/usr/lib/", "/System/Library/")
# Apple's cs_blobs.h: what begins a signature, and its list of hashes. Both are big-endian.
SIGNATURE, DIRECTORY = 0xFADE0CC0, 0xFADE0C02


def text(data: bytes) -> str:
    return data.split(b"\0")[0].decode()


def oldest_system(command: object) -> tuple[int, int]:
    version = getattr(command, "minos", None) or command.version
    return version >> 16, version >> 8 & 0xFF


def signature_faults(half: bytes, offset: int) -> list[str]:
    """Compares each page with its hash in the signature."""
    magic, _, count = struct.unpack_from(">3I", half, offset)
    if magic != SIGNATURE:
        return ["its signature is none"]
    entries = struct.iter_unpack(">2I", half[offset + 12:offset + 12 + 8 * count])
    places = [offset + place for _, place in entries if struct.unpack_from(">I", half, offset + place)[0] == DIRECTORY]
    for start in places:
        _, _, _, _, hashes, _, _, pages, limit = struct.unpack_from(">9I", half, start)
        size, kind, _, page = struct.unpack_from(">4B", half, start + 36)
        if (size, kind) != (32, 2):
            return [f"its signature has hashes of kind {kind}, and not SHA-256"]
        for number in range(pages):
            begin = number << page
            seen = hashlib.sha256(half[begin:min(begin + (1 << page), limit)]).digest()
            if seen != half[start + hashes + 32 * number:start + hashes + 32 * (number + 1)]:
                return [f"page {number} is not what was signed"]
    return [] if places else ["its signature has no hashes"]


def faults_of_half(path: pathlib.Path, header: object, install_name: str | None) -> list[str]:
    found, processor = [], CPU_TYPE_NAMES.get(header.header.cputype, header.header.cputype)
    half = path.read_bytes()[header.offset:header.offset + header.size]
    commands = [(load.cmd, command, data) for load, command, data in header.commands]
    names = {kind: [text(data) for number, _, data in commands if number == kind] for kind in (LC_ID_DYLIB, LC_LOAD_DYLIB)}
    found += [f"needs {name}, which is not the system's" for name in names[LC_LOAD_DYLIB] if not name.startswith(SYSTEM)]
    if install_name and names[LC_ID_DYLIB] != [install_name]:
        found.append(f"is named {names[LC_ID_DYLIB]}, and not {install_name}")
    versions = {oldest_system(command) for number, command, _ in commands if number in (LC_BUILD_VERSION, LC_VERSION_MIN_MACOSX)}
    if versions != {OLDEST}:
        found.append(f"is for macOS {versions}, and not {OLDEST}")
    signatures = [command.dataoff for number, command, _ in commands if number == LC_CODE_SIGNATURE]
    if not signatures and processor == "ARM64":
        found.append("has no signature")
    found += [fault for offset in signatures for fault in signature_faults(half, offset)]
    if path.name == "liblsl.dylib":
        symbols = {text(name) for _, name in SymbolTable(MachO(str(path)), header).extdefsyms}
        wanted = {f"_{line}" for line in (ROOT / "capi" / "symbols.txt").read_text().split("\n") if line and line[0] != "#"}
        found += [f"lacks {name}" for name in sorted(wanted - symbols)]
    print(f"{path.name} {processor}: {', '.join(names[LC_LOAD_DYLIB])}; {len(signatures)} signature")
    return [f"{path.name} {processor}: {fault}" for fault in found]


def faults(path: pathlib.Path, install_name: str | None) -> list[str]:
    file = MachO(str(path))
    halves = sorted(CPU_TYPE_NAMES.get(header.header.cputype, "?") for header in file.headers)
    found = [] if halves == ["ARM64", "x86_64"] else [f"{path.name} has halves for {halves}"]
    for header in file.headers:
        found += faults_of_half(path, header, install_name)
    return found


def main() -> None:
    built, folder = map(pathlib.Path, sys.argv[1:])
    (wheel,) = folder.glob("schwann-*-macosx_*.whl")
    found = [fault for name, install_name in FILES.items() for fault in faults(built / name, install_name)]
    with tempfile.TemporaryDirectory() as kept, zipfile.ZipFile(wheel) as packed:
        found += faults(pathlib.Path(packed.extract(MODULE, kept)), None)
    print("\n".join(found) or "all of it is as macOS wants it; it was never run")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
