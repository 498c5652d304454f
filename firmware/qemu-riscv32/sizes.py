"""Prints the sizes of an image's sections, and fails if one exceeds its budget.

Usage: sizes.py device|outlet IMAGE
"""

import struct
import sys

# Bytes: measured, with 10 % slack. `firmware/README.md` compares them with the goals.
BUDGETS = {
    # What the tests run: with settings, a serial line, and the text of what it says there.
    "device": {"code": 179_200, "data": 100, "bss": 9_900},
    # An outlet, sealed or not, and its network alone (feature `bare`).
    "outlet": {"code": 171_400, "data": 100, "bss": 9_900},
}


def sections(image: bytes) -> dict[str, int]:
    """Sizes of the sections of a 32-bit ELF file, by name."""
    (table,) = struct.unpack_from("<I", image, 0x20)
    entry_len, count, names = struct.unpack_from("<HHH", image, 0x2E)
    entries = [struct.unpack_from("<10I", image, table + entry_len * number) for number in range(count)]
    strings = entries[names][4]
    return {image[strings + entry[0]:].split(b"\0", 1)[0].decode(): entry[5] for entry in entries}


def main() -> int:
    kind, path = sys.argv[1:]
    with open(path, "rb") as file:
        found = sections(file.read())
    sizes = {"code": found[".text"] + found[".rodata"], "data": found.get(".data", 0), "bss": found[".bss"]}
    print(f"sizes {kind} " + " ".join(f"{name}={size}" for name, size in sizes.items()))
    over = [f"{name}: {sizes[name]} bytes, {budget} are permitted"
            for name, budget in BUDGETS[kind].items() if sizes[name] > budget]
    print("\n".join(over) or "sizes are within their budgets")
    return bool(over)


if __name__ == "__main__":
    sys.exit(main())
