#!/usr/bin/env python3
"""What every file of the house must be like: layers, rooms, doors, lengths. Prints each breach as file:line and exits 1."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# A folder may include its own headers and those of the folders below it; an edge that nobody uses is a breach, too.
BELOW = {
    "runtime": set(),
    "algebra": {"runtime"},
    "enumerate": {"runtime", "algebra"},
    "execute": {"runtime", "algebra"},
    "fingerprint": {"runtime", "algebra", "enumerate", "execute"},
    "dedup": {"runtime", "algebra", "enumerate", "execute", "fingerprint"},
    "egraph": {"runtime", "algebra"},
    "check": {"runtime", "algebra"},
    "prove": {"runtime", "algebra", "egraph", "check"},
    "optimize": {"runtime", "algebra", "egraph"},
}
BELOW["cli"] = set(BELOW) - {"check"}
BELOW["bench"] = {"runtime", "algebra", "execute", "fingerprint", "dedup", "egraph", "prove"}

# Each outside library has one door: the folders that may include its headers.
DOORS = {
    r"z3(\+\+|_\w+)?\.h": ["prove"],
    r"Cbc_.*": ["optimize"],
    r"onnx/.*": ["optimize/onnx"],
    r"onnx.*\.pb\.h": ["optimize/onnx"],
    r"(hdf5|H5\w+)\.h": ["runtime"],
    r"mpi\.h": ["runtime"],
    r"(cuda\w*|cublas\w*|cudnn\w*|nvml|nvrtc)\.h|(cuda|cub|thrust)/.*": ["execute", "optimize"],
}

# What one must read to believe a proof: how long it may be, and what it stands on, besides itself.
KERNEL, KERNEL_LINES = "check/kernel", 2900
KERNEL_TRUSTS = {"algebra/claims/laws.h", "algebra/claims/program.h", "algebra/claims/sum_form.h", "algebra/language/expression.h",
                 "algebra/language/function_domain.h", "algebra/sizes/checked.h", "algebra/sizes/poly.h", "algebra/terms/term.h", "runtime/error.h"}

# Words of the language of sizes, which an operator may be called as well.
SIZE_WORDS = {"div", "mod", "min", "max"}

LONGEST_FILE = 800
LONGEST_README = 15
SOURCES = {".cc", ".h", ".cu"}
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
FORBIDDEN_NAMES = re.compile(r"(^|_)(utils?|misc|common|helpers?)($|_)")


def sources():
    for folder in [*BELOW, "tests"]:
        yield from sorted(p for p in (ROOT / folder).rglob("*") if p.suffix in SOURCES)


def check_includes(path, place, lines):
    folder = place.parts[0]
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quoted, header = match.group(1) == '"', match.group(2)
        target = header.split("/")[0]
        if quoted and folder in BELOW and target in BELOW and target != folder and target not in BELOW[folder]:
            yield f"{place}:{number}: {folder}/ may not include {header}: dependencies point down only"
        for pattern, homes in DOORS.items():
            if quoted and target in BELOW:
                continue
            tested = [f"tests/{home.split('/')[0]}" for home in homes]
            if re.fullmatch(pattern, header) and not any(place.is_relative_to(home) for home in homes + tested):
                yield f"{place}:{number}: {header} may be included in {', '.join(homes)} only"


def check_kernel():
    """The checker's kernel stays small, and stands on a few headers that are named here."""
    lines = 0
    for path in sorted((ROOT / KERNEL).iterdir()):
        text = path.read_text(encoding="utf-8").splitlines()
        lines += len(text) if path.suffix in SOURCES else 0
        for number, line in enumerate(text, 1):
            match = INCLUDE.match(line)
            inside = match and (match.group(1) == "<" or match.group(2).startswith(KERNEL) or match.group(2) in KERNEL_TRUSTS)
            if match and not inside:
                yield f"{path.relative_to(ROOT)}:{number}: the kernel may not stand on {match.group(2)}"
    if lines > KERNEL_LINES:
        yield f"{KERNEL}: {lines} lines must be read to believe a proof, {KERNEL_LINES} are allowed"


def check_edges():
    """Every edge of BELOW is used."""
    used = set()
    for path in sources():
        folder = path.relative_to(ROOT).parts[0]
        for line in path.read_text(encoding="utf-8").splitlines():
            match = INCLUDE.match(line)
            if match and match.group(1) == '"':
                used.add((folder, match.group(2).split("/")[0]))
    for folder, below in BELOW.items():
        for target in sorted(below):
            if (folder, target) not in used:
                yield f"tests/house_test.py: {folder}/ is allowed to include {target}/ and does not"


def room_of(path):
    """The room of a file, as folder/room; a file that lies in the folder itself is a room of its own."""
    parts = pathlib.PurePosixPath(path).with_suffix("").parts
    return "/".join(parts[:2])


def check_rooms():
    """Rooms of one folder, and the files beside them, stand on each other in some order: no circle."""
    uses = {}  # room: {room that it includes: where}
    divided = {name for name in BELOW if any(child.is_dir() for child in (ROOT / name).iterdir())}
    for path in sources():
        place = path.relative_to(ROOT)
        if place.parts[0] not in divided:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            if not match or match.group(1) != '"' or not (ROOT / match.group(2)).is_file():
                continue
            here, there = room_of(place.as_posix()), room_of(match.group(2))
            if here != there and here.split("/")[0] == there.split("/")[0]:
                uses.setdefault(here, {}).setdefault(there, f"{place}:{number}")
    done = set()

    def visit(room, above):
        if room in above:
            circle = above[above.index(room) :] + [room]
            if not any((ROOT / member).is_dir() for member in circle):
                return  # files of one folder may know each other
            yield f"{uses[above[-1]][room]}: rooms in a circle: {' -> '.join(circle)}"
        elif room not in done:
            for below in sorted(uses.get(room, {})):
                yield from visit(below, [*above, room])
            done.add(room)

    for room in sorted(uses):
        yield from visit(room, [])


def check_source(path):
    place = path.relative_to(ROOT)
    lines = path.read_text(encoding="utf-8").splitlines()
    yield from check_includes(path, place, lines)
    if len(lines) > LONGEST_FILE:
        yield f"{place}:{LONGEST_FILE}: {len(lines)} lines; no file is longer than {LONGEST_FILE}"
    if FORBIDDEN_NAMES.search(path.stem):
        yield f"{place}: files are named for a concept"
    if path.suffix == ".h":
        if not lines or not lines[0].startswith("//"):
            yield f"{place}:1: a header opens with its purpose"
        if "#pragma once" not in lines:
            yield f"{place}:1: a header says #pragma once"


def check_folder(name):
    readme = ROOT / name / "README.md"
    if not readme.is_file():
        yield f"{name}/: has no README.md"
    elif len(readme.read_text(encoding="utf-8").splitlines()) > LONGEST_README:
        yield f"{name}/README.md: longer than {LONGEST_README} lines"


def check_operator_names():
    """No operator is named in C++ outside of tests: what one means stands in data/operators alone."""
    names = set()
    for path in (ROOT / "data" / "operators").glob("*.op"):
        names |= set(re.findall(r"^operator\s+(\w+)", path.read_text(encoding="utf-8"), re.M))
    names -= SIZE_WORDS
    pattern = re.compile(r'[=!]=\s*"(' + "|".join(sorted(names)) + r')"|"(' + "|".join(sorted(names)) + r')"\s*[=!]=')
    for path in sources():
        place = path.relative_to(ROOT)
        if place.parts[0] in ("tests", "bench") or not names:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = pattern.search(line)
            if match:
                yield f"{place}:{number}: compares with the operator name {match.group(0)}"


# Folders of tests that are of no source folder: attacks on the whole, and what they are made of.
OF_THE_WHOLE = {"attack", "fuzz", "corpus"}


def check_mirror():
    """tests/ROOM/UNIT_test.cc, or UNIT_aspect_test.cc, is a test of ROOM/UNIT; every folder of tests is a source folder's."""
    for path in sorted((ROOT / "tests").rglob("*_test.*")):
        place = path.relative_to(ROOT)
        if path.suffix not in (".cc", ".py") or len(place.parts) == 2 or place.parts[1] in OF_THE_WHOLE:
            continue
        room = ROOT.joinpath(*place.parts[1:-1])
        if not room.is_dir():
            yield f"{place}: there is no folder {room.relative_to(ROOT)} that this could be a test of"
        elif path.suffix == ".cc":
            units = {source.stem for source in room.iterdir() if source.suffix in SOURCES}
            words = path.stem.split("_")[:-1]
            if not any("_".join(words[:count]) in units for count in range(1, len(words) + 1)):
                yield f"{place}: {room.relative_to(ROOT)} has no file that this is named for"


def check_walk():
    """docs/walk.md names files that are there, each once."""
    named = set()
    for number, line in enumerate((ROOT / "docs/walk.md").read_text(encoding="utf-8").splitlines(), 1):
        for name in re.findall(r"`([\w/]+\.(?:cc|cu|h))`", line):
            if not (ROOT / name).is_file():
                yield f"docs/walk.md:{number}: there is no {name}"
            if name in named:
                yield f"docs/walk.md:{number}: {name} is named a second time"
            named.add(name)


def main():
    breaches = []
    for path in sources():
        breaches += check_source(path)
    for folder in [*BELOW, "slurm", "data", "docs", "tests"]:
        breaches += check_folder(folder)
    breaches += check_edges()
    breaches += check_kernel()
    breaches += check_rooms()
    breaches += check_operator_names()
    breaches += check_mirror()
    breaches += check_walk()
    for breach in breaches:
        print(breach)
    print(f"house: {sum(1 for _ in sources())} files, {len(breaches)} breaches")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
