"""A small disk of its own, for programs whose disk is full or read-only. Only root can mount one."""

import contextlib
import pathlib
import subprocess


class Disk:
    """A small disk, which only this user may enter."""

    def __init__(self, folder: pathlib.Path, kilobytes: int) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k,mode=700", "tmpfs", str(folder)], check=True)

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        subprocess.run(["umount", str(self.folder)], check=True)

    def fill(self) -> None:
        """Leaves no byte."""
        with (self.folder / "ballast").open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))

    def free(self) -> None:
        (self.folder / "ballast").unlink()

    def make_read_only(self) -> None:
        subprocess.run(["mount", "-o", "remount,ro", str(self.folder)], check=True)
