#!/usr/bin/env python3
"""Checks all sources: dependencies, include cycles, external libraries, sizes. Prints violations; exits 1."""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# The folders whose headers each folder may include, besides its own. An unused dependency is a violation, too.
MAY_DEPEND_ON = {
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
MAY_DEPEND_ON["pipeline"] = {"runtime", "algebra", "enumerate", "fingerprint", "dedup", "prove"}
MAY_DEPEND_ON["cli"] = set(MAY_DEPEND_ON) - {"check", "dedup", "enumerate"}
MAY_DEPEND_ON["bench"] = {"runtime", "algebra", "enumerate", "execute", "fingerprint", "dedup", "egraph", "prove"}

# The only includers of each external library's headers, besides their tests.
INCLUDED_ONLY_BY = {
    r"z3(\+\+|_\w+)?\.h": ["prove/solver", "prove/elaboration"],
    r"Cbc_.*": ["optimize/search"],
    r"onnx/.*": ["optimize/onnx"],
    r"onnx.*\.pb\.h": ["optimize/onnx"],
    r"(hdf5|H5\w+)\.h": ["runtime/files"],
    r"zlib\.h": ["optimize/onnx/inputs", "runtime/files"],
    r"mpi\.h": ["runtime/mpi"],
    r"(cuda\w*|cublas\w*|cudnn\w*|nvml|nvrtc)\.h|(cuda|cub|thrust)/.*": ["execute/gpu", "optimize/gpu", "tests/gpu_stand_in"],
}

# The trusted kernel: its maximum size in lines, that of it with all that it includes and their sources, and the other
# headers that it may include.
KERNEL, MAX_KERNEL_LINES, MAX_TRUSTED_LINES = "check/kernel", 2445, 3914
KERNEL_TRUSTS = {
    "algebra/operators/expression.h",
    "algebra/operators/function.h",
    "algebra/operators/function_domain.h",
    "algebra/operators/index_value.h",
    "algebra/operators/law.h",
    "algebra/operators/operator_instance.h",
    "algebra/properties/exact_value.h",
    "algebra/operators/function_interpreter.h",
    "algebra/properties/sum_of_products.h",
    "algebra/sizes/checked.h",
    "algebra/sizes/poly.h",
    "runtime/text/error.h",
}

# Functions of the size language; an operator may have such a name, too.
SIZE_FUNCTIONS = {"div", "mod", "min", "max"}

# They are lowered, never raised.
BOUNDS = {"lines of C++": 96_420, "words of pages": 53_800, "decision records": 42}
MAX_FILE_LINES = 800
MAX_README_LINES = 15
MAX_FOLDER_FILES = 25  # sources directly in a folder
SOURCES = {".cc", ".h", ".cu"}
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
FORBIDDEN_NAMES = re.compile(r"(^|_)(utils?|misc|common|helpers?)($|_)")


def sources():
    for folder in [*MAY_DEPEND_ON, "tests"]:
        yield from sorted(p for p in (ROOT / folder).rglob("*") if p.suffix in SOURCES)


def check_includes(path, place, lines):
    folder = place.parts[0]
    may_include = MAY_DEPEND_ON.get(folder)
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quoted, header = match.group(1) == '"', match.group(2)
        target = header.split("/")[0]
        is_dependency = quoted and target in MAY_DEPEND_ON and target != folder
        if is_dependency and may_include is not None and target not in may_include:
            yield f"{place}:{number}: {folder}/ may not include {header}: dependencies point down only"
        for pattern, includers in INCLUDED_ONLY_BY.items():
            if quoted and target in MAY_DEPEND_ON:
                continue
            tests = [f"tests/{includer.split('/')[0]}" for includer in includers]
            is_allowed = any(place.is_relative_to(includer) for includer in includers + tests)
            if re.fullmatch(pattern, header) and not is_allowed:
                yield f"{place}:{number}: {header} may be included in {', '.join(includers)} only"


def check_kernel():
    """Limits the size and the dependencies of the checker's kernel."""
    lines = 0
    for path in sorted((ROOT / KERNEL).iterdir()):
        text = path.read_text(encoding="utf-8").splitlines()
        lines += len(text) if path.suffix in SOURCES else 0
        for number, line in enumerate(text, 1):
            match = INCLUDE.match(line)
            if not match or match.group(1) == "<":
                continue
            header = match.group(2)
            if not header.startswith(KERNEL) and header not in KERNEL_TRUSTS:
                yield f"{path.relative_to(ROOT)}:{number}: the kernel may not include {header}; use KERNEL_TRUSTS only"
    if lines > MAX_KERNEL_LINES:
        yield f"{KERNEL}: {lines} lines; expected at most {MAX_KERNEL_LINES}: move untrusted code out"
    trusted = with_all_that_they_include(p for p in (ROOT / KERNEL).iterdir() if p.suffix in SOURCES)
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in trusted)
    if lines > MAX_TRUSTED_LINES:
        yield f"{KERNEL} and what it includes: {lines} lines; expected at most {MAX_TRUSTED_LINES}"


def with_all_that_they_include(paths):
    """Returns the files, the headers of the repository that they include at any depth, and the sources of these."""
    found, pending = set(), list(paths)
    while pending:
        path = pending.pop()
        if path in found or not path.is_file():
            continue
        found.add(path)
        if path.suffix == ".h":
            pending.append(path.with_suffix(".cc"))
        matches = map(INCLUDE.match, path.read_text(encoding="utf-8").splitlines())
        pending += [ROOT / match.group(2) for match in matches if match and match.group(1) == '"']
    return found


def check_edges():
    """Every dependency in MAY_DEPEND_ON must exist."""
    used = set()
    for path in sources():
        folder = path.relative_to(ROOT).parts[0]
        for line in path.read_text(encoding="utf-8").splitlines():
            match = INCLUDE.match(line)
            if match and match.group(1) == '"':
                used.add((folder, match.group(2).split("/")[0]))
    for folder, below in MAY_DEPEND_ON.items():
        for target in sorted(below):
            if (folder, target) not in used:
                yield f"tests/source_rules_test.py: {folder}/ does not include {target}/; remove it from MAY_DEPEND_ON"


def include_graph(key):
    """Returns {key of a file: {key of an included file: file:line}}, without self-edges."""
    graph = {}
    for path in sources():
        place = path.relative_to(ROOT)
        if place.parts[0] == "tests":
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            if match and match.group(1) == '"' and (ROOT / match.group(2)).is_file():
                source, target = key(place), key(pathlib.PurePosixPath(match.group(2)))
                if source != target:
                    graph.setdefault(source, {}).setdefault(target, f"{place}:{number}")
    return graph


def find_cycles(graph):
    """Yields (place, cycle) for each back edge of a depth-first search."""
    done = set()

    def visit(node, path):
        if node in path:
            cycle = path[path.index(node) :] + [node]
            yield graph[path[-1]][node], " -> ".join(cycle)
        elif node not in done:
            for target in sorted(graph.get(node, {})):
                yield from visit(target, [*path, node])
            done.add(node)

    for node in sorted(graph):
        yield from visit(node, [])


def check_cycles():
    """Neither folders nor units (a header with its source) may include each other in a cycle."""
    for place, cycle in find_cycles(include_graph(lambda place: place.parent.as_posix())):
        yield f"{place}: folders in a cycle: {cycle}"
    for place, cycle in find_cycles(include_graph(lambda place: place.with_suffix("").as_posix())):
        yield f"{place}: units in a cycle: {cycle}"


def check_folder_sizes():
    """Limits the number of sources in a folder."""
    count = collections.Counter(path.parent.relative_to(ROOT).as_posix() for path in sources())
    for folder, files in sorted(count.items()):
        if files > MAX_FOLDER_FILES and not folder.startswith("tests"):
            yield f"{folder}/: {files} sources; expected at most {MAX_FOLDER_FILES}: divide it by topic"


def check_bounds():
    """Limits what only falls: lines of C++ beside tests and bench, words of pages, and decision records."""
    code = [path for folder in MAY_DEPEND_ON for path in (ROOT / folder).rglob("*") if path.suffix in SOURCES]
    records = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "decisions").glob("*.md")]
    counts = {
        "lines of C++": sum(len(path.read_text(encoding="utf-8").splitlines()) for path in code),
        "words of pages": sum(len(path.read_text(encoding="utf-8").split()) for path in pages),
        "decision records": len(records),
    }
    for name, count in counts.items():
        if count > BOUNDS[name]:
            yield f"{count} {name}; expected at most {BOUNDS[name]}: what is added replaces something"


def check_source(path):
    place = path.relative_to(ROOT)
    lines = path.read_text(encoding="utf-8").splitlines()
    yield from check_includes(path, place, lines)
    if len(lines) > MAX_FILE_LINES:
        yield f"{place}:{MAX_FILE_LINES}: {len(lines)} lines; expected at most {MAX_FILE_LINES}"
    if FORBIDDEN_NAMES.search(path.stem):
        yield f"{place}: a file must be named for a concept"
    if path.suffix == ".h":
        if not lines or not lines[0].startswith("//"):
            yield f"{place}:1: a header must begin with a comment on its purpose"
        if "#pragma once" not in lines:
            yield f"{place}:1: a header must have #pragma once"


def check_readme(name):
    """A folder must have a short README."""
    readme = ROOT / name / "README.md"
    if not readme.is_file():
        yield f"{name}/: no README.md"
        return
    lines = readme.read_text(encoding="utf-8").splitlines()
    if len(lines) > MAX_README_LINES:
        yield f"{name}/README.md: more than {MAX_README_LINES} lines"
    if not lines or not lines[0].startswith("# "):
        yield f"{name}/README.md:1: expected a title, '# …'"


def check_operator_names():
    """C++ must not compare with operator names, except in tests: only data/operators gives operators a meaning."""
    names = set()
    for path in (ROOT / "data" / "operators").glob("*.op"):
        names |= set(re.findall(r"^operator\s+(\w+)", path.read_text(encoding="utf-8"), re.M))
    names -= SIZE_FUNCTIONS
    pattern = re.compile(r'[=!]=\s*"(' + "|".join(sorted(names)) + r')"|"(' + "|".join(sorted(names)) + r')"\s*[=!]=')
    for path in sources():
        place = path.relative_to(ROOT)
        if place.parts[0] in ("tests", "bench") or not names:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = pattern.search(line)
            if match:
                yield f"{place}:{number}: compares with the operator name {match.group(0)}; use the definition"


# Folders of tests that do not mirror a source folder.
WHOLE_SYSTEM_TESTS = {"adversarial", "fuzz", "corpus", "gpu_stand_in", "independent_checker"}


def check_mirror():
    """tests/FOLDER/UNIT_test.cc, or UNIT_ASPECT_test.cc, must have a FOLDER/UNIT."""
    for path in sorted((ROOT / "tests").rglob("*_test.*")):
        place = path.relative_to(ROOT)
        if path.suffix not in (".cc", ".py") or len(place.parts) == 2 or place.parts[1] in WHOLE_SYSTEM_TESTS:
            continue
        folder = ROOT.joinpath(*place.parts[1:-1])
        if not folder.is_dir():
            yield f"{place}: no folder {folder.relative_to(ROOT)} to test"
        elif path.suffix == ".cc":
            units = {source.stem for source in folder.iterdir() if source.suffix in SOURCES}
            words = path.stem.split("_")[:-1]
            if not any("_".join(words[:count]) in units for count in range(1, len(words) + 1)):
                yield f"{place}: {folder.relative_to(ROOT)} has no file of this name"


def check_code_tour():
    """docs/code_tour.md must name existing files, each once."""
    tour = ROOT / "docs" / "code_tour.md"
    named = set()
    for number, line in enumerate(tour.read_text(encoding="utf-8").splitlines(), 1):
        for name in re.findall(r"`([\w/]+\.(?:cc|cu|h))`", line):
            if not (ROOT / name).is_file():
                yield f"docs/code_tour.md:{number}: {name} does not exist"
            if name in named:
                yield f"docs/code_tour.md:{number}: {name} is named twice"
            named.add(name)


def main():
    violations = []
    for path in sources():
        violations += check_source(path)
    folders = {path.parent.relative_to(ROOT).as_posix() for path in sources()}
    folders = {folder for folder in folders if not folder.startswith("tests")}
    for folder in sorted(folders | set(MAY_DEPEND_ON) | {"slurm", "data", "docs", "tests", "pages", "python"}):
        violations += check_readme(folder)
    violations += check_edges()
    violations += check_kernel()
    violations += check_cycles()
    violations += check_folder_sizes()
    violations += check_bounds()
    violations += check_operator_names()
    violations += check_mirror()
    violations += check_code_tour()
    for violation in violations:
        print(violation)
    print(f"source rules: {sum(1 for _ in sources())} files, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
