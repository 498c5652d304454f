"""Inspects the library for Android: nothing here can load it as a phone does.

    release/inspect_android.py BUILT      as release/build.sh filled it

It must be for arm64 and for pages of 16 KiB, and need nothing but what every Android has. It must export our functions and no others.
"""

import pathlib
import sys

from elftools.elf.elffile import ELFFile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SYSTEM = {"libc.so", "libdl.so", "liblog.so", "libm.so"}
PAGE = 16384


def faults(file: ELFFile, wanted: set[str]) -> list[str]:
    found = [] if file["e_machine"] == "EM_AARCH64" else [f"is for {file['e_machine']}"]
    for segment in file.iter_segments():
        kind, flags = segment["p_type"], segment["p_flags"]
        if kind == "PT_LOAD" and segment["p_align"] < PAGE:
            found.append(f"has a segment for pages of {segment['p_align']} bytes")
        if kind in ("PT_LOAD", "PT_GNU_STACK") and flags & 1 and flags & 2:
            found.append("has memory that can be written and run")
        # Before Android 10 the loader refuses it.
        if kind == "PT_TLS":
            found.append("has thread-local storage of the loader's kind")
    tags = list(file.get_section_by_name(".dynamic").iter_tags())
    found += [f"needs {tag.needed}" for tag in tags if tag.entry.d_tag == "DT_NEEDED" and tag.needed not in SYSTEM]
    found += ["has relocations in its code" for tag in tags if tag.entry.d_tag == "DT_TEXTREL"]
    if [tag.soname for tag in tags if tag.entry.d_tag == "DT_SONAME"] != ["liblsl.so"]:
        found.append("has another name than liblsl.so")
    symbols = [symbol for symbol in file.get_section_by_name(".dynsym").iter_symbols() if symbol["st_info"]["bind"] != "STB_LOCAL"]
    names = {symbol.name for symbol in symbols if symbol["st_shndx"] != "SHN_UNDEF"}
    return found + [f"lacks {one}" for one in sorted(wanted - names)] + [f"exports {one}" for one in sorted(names - wanted)[:10]]


def main() -> int:
    library = pathlib.Path(sys.argv[1]) / "liblsl.so"
    wanted = {line for line in (ROOT / "capi" / "symbols.txt").read_text().split("\n") if line and line[0] != "#"}
    with library.open("rb") as file:
        found = faults(ELFFile(file), wanted)
    print(*(f"{library.name}: {fault}" for fault in found), sep="\n", file=sys.stderr)
    if not found:
        print(f"{library.name}: arm64, {len(wanted)} functions, needs nothing but the system's libraries")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
