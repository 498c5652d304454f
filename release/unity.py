"""Makes the package for Unity: the wrapper, the libraries that were built, and what Unity asks to know of each file.

    release/unity.py BUILT FOLDER VERSION SECONDS      SECONDS since 1970: the time that each file gets

BUILT has a folder for each target, as release/build.sh fills it.
"""

import gzip
import hashlib
import io
import pathlib
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAME = "org.schwann.lsl"
# Where each target's library goes, and what it is for: Unity's name of the platform, and the editor's system and processor.
LIBRARIES = {
    "x86_64-pc-windows-gnu": ("lsl.dll", "Plugins/Windows/x86_64/lsl.dll", "Win64", "Windows", "x86_64"),
    "i686-pc-windows-gnu": ("lsl.dll", "Plugins/Windows/x86/lsl.dll", "Win", "Windows", "x86"),
    "x86_64-unknown-linux-gnu": ("liblsl.so", "Plugins/Linux/x86_64/liblsl.so", "Linux64", "Linux", "x86_64"),
    "universal2-apple-darwin": ("liblsl.dylib", "Plugins/macOS/liblsl.dylib", "OSXUniversal", "OSX", "AnyCPU"),
    "aarch64-linux-android": ("liblsl.so", "Plugins/Android/arm64-v8a/liblsl.so", "Android", None, "ARM64"),
}


def meta(path: str, importer: str) -> bytes:
    """What Unity keeps beside each file and folder. Its number must stay the same from version to version."""
    number = hashlib.md5(f"{NAME}/{path}".encode(), usedforsecurity=False).hexdigest()
    return f"fileFormatVersion: 2\nguid: {number}\n{importer}".encode()


def plain(kind: str) -> str:
    return f"{kind}:\n  externalObjects: {{}}\n  userData: \n  assetBundleName: \n  assetBundleVariant: \n"


def plugin(platform: str, system: str | None, processor: str) -> str:
    """For which platform a library is."""
    def entry(first: str, enabled: int, settings: str) -> str:
        return f"  - first:\n      {first}\n    second:\n      enabled: {enabled}\n      settings:{settings}\n"

    editor = f"\n        CPU: {processor}\n        OS: {system}" if system else " {}"
    group = "Android: Android" if platform == "Android" else f"Standalone: {platform}"
    return ("PluginImporter:\n  externalObjects: {}\n  serializedVersion: 2\n  isPreloaded: 0\n  isOverridable: 1\n  platformData:\n"
            + entry(": Any", 0, " {}") + entry("Editor: Editor", int(system is not None), editor)
            + entry(group, 1, f"\n        CPU: {processor}") + "  userData: \n  assetBundleName: \n  assetBundleVariant: \n")


def files(built: pathlib.Path, version: str) -> dict[str, tuple[bytes, str]]:
    """Content and importer of each file of the package."""
    found: dict[str, tuple[bytes, str]] = {}
    folder = ROOT / "release" / "unity"
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and "~" not in name:
            importer = {".cs": "MonoImporter", ".asmdef": "AssemblyDefinitionImporter", ".json": "PackageManifestImporter",
                        ".md": "TextScriptImporter"}.get(path.suffix, "DefaultImporter")
            found[name] = path.read_bytes().replace(b"@VERSION@", version.encode()), plain(importer)
    found["LICENSE.md"] = (ROOT / "LICENSE-MIT").read_bytes(), plain("TextScriptImporter")
    for target, (library, place, *what) in LIBRARIES.items():
        if (built / target / library).exists():
            found[place] = (built / target / library).read_bytes(), plugin(*what)
        else:
            print(f"the package for Unity has no library for {target}: it was not built")
    return found


def pack(built: pathlib.Path, version: str, seconds: int) -> bytes:
    """The package as Unity's package manager takes it: a tar of `package/`."""
    content = files(built, version)
    members = {name: data for name, (data, _) in content.items()}
    members |= {f"{name}.meta": meta(name, importer) for name, (_, importer) in content.items()}
    folders = {parent.as_posix() for name in content for parent in pathlib.PurePosixPath(name).parents} - {"."}
    # What is in a folder of Android's own is not Unity's to number.
    members = {name: data for name, data in members.items() if not (".androidlib/" in name and name.endswith(".meta"))}
    for folder in folders:
        members[f"{folder}.meta"] = meta(folder, "folderAsset: yes\n" + plain("DefaultImporter"))
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(members):
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mtime, entry.mode = len(members[name]), seconds, 0o644
            archive.addfile(entry, io.BytesIO(members[name]))
    return gzip.compress(buffer.getvalue(), 9, mtime=0)


def main() -> None:
    built, folder, version, seconds = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    (folder / f"{NAME}-{version}.tgz").write_bytes(pack(built, version, seconds))


if __name__ == "__main__":
    main()
