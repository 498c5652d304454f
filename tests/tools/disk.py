"""A small disk of its own, for programs whose disk is full. Only root can mount one."""

import contextlib
import pathlib
import subprocess


class Disk:
    """A small disk, which can be full."""

    def __init__(self, folder: pathlib.Path, megabytes: int) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)], check=True)

    def fill(self) -> None:
        """Leaves no byte."""
        with (self.folder / "ballast").open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))

    def free(self) -> None:
        (self.folder / "ballast").unlink()
