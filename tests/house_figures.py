#!/usr/bin/env python3
"""The house in figures: files and lines by folder, the longest files and functions. house_figures.py [ROOT]"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
SOURCES = {".cc", ".h", ".cu"}
LONG = 50

# Comments, strings and characters, whose braces are none.
QUIET = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^\s()\\]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])*\'', re.S
)
# What stands before the brace of a function: its parameters, and what may follow them.
FUNCTION = re.compile(r"\)\s*(const|noexcept|override|final|mutable|\s|->[\w\s:<>,*&]+|:[^;{}]*(\{[^{}]*\}[^;{}]*)*)*$", re.S)
NO_FUNCTION = re.compile(r"^\s*(namespace|class|struct|union|enum|extern)\b|=\s*$")


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def functions(text):
    """(first line, lines, name) of every function that is in no other one."""
    text = QUIET.sub(blank, text)
    text = re.sub(r"^[ \t]*#.*(\\\n.*)*", blank, text, flags=re.M)
    stack, start, depth_in_function, found = [], 0, 0, []
    for match in re.finditer(r"[{};]", text):
        at = match.start()
        if match.group(0) == "{":
            head = text[start:at]
            is_function = not depth_in_function and "(" in head and not NO_FUNCTION.search(head) and FUNCTION.search(head)
            if depth_in_function:
                depth_in_function += 1
            elif is_function:
                depth_in_function = 1
            elif re.search(r"[\w)>,]\s*$", head) and not re.search(r"\b(namespace|class|struct|union|enum|extern)\b", head):
                # Braces of an initializer: what begins before them goes on behind them.
                stack.append((start, None))
                start = at + 1
                continue
            stack.append((start if is_function else None, head))
            if not depth_in_function:
                start = at + 1
        elif match.group(0) == "}":
            begin, head = stack.pop() if stack else (None, None)
            if begin is not None and head is None:
                start = begin
                continue
            if depth_in_function:
                depth_in_function -= 1
                if depth_in_function == 0 and begin is not None:
                    first = text.count("\n", 0, begin + len(head) - len(head.lstrip())) + 1
                    last = text.count("\n", 0, at) + 1
                    name = re.search(r"([~\w:]+|operator[^\s(]+)\s*\(", head)
                    found.append((first, last - first + 1, name.group(1) if name else "?"))
            if not depth_in_function:
                start = at + 1
        elif not depth_in_function:
            start = at + 1
    return found


def main():
    folders = collections.OrderedDict()
    files, long_functions = [], []
    for folder in sorted(p for p in ROOT.iterdir() if p.is_dir() and p.name not in ("build", "tests", "bench", "docs")):
        for path in sorted(p for p in folder.rglob("*") if p.suffix in SOURCES):
            text = path.read_text(encoding="utf-8")
            lines = text.count("\n")
            place = path.relative_to(ROOT).as_posix()
            room = "/".join(place.split("/")[:-1])
            count = folders.setdefault(room, [0, 0])
            count[0] += 1
            count[1] += lines
            files.append((lines, place))
            long_functions += [(length, f"{place}:{first}", name) for first, length, name in functions(text)]
    print(f"{'room':28} files  lines")
    for room, (count, lines) in folders.items():
        print(f"{room:28} {count:5} {lines:6}")
    print(f"{'all':28} {len(files):5} {sum(lines for lines, _ in files):6}")
    above = sorted((f for f in long_functions if f[0] > LONG), reverse=True)
    print(f"\n{len(long_functions)} functions, {len(above)} of more than {LONG} lines")
    for length, place, name in above:
        print(f"{length:4}  {place}  {name}")
    print("\nlongest files")
    for lines, place in sorted(files, reverse=True)[:8]:
        print(f"{lines:4}  {place}")


if __name__ == "__main__":
    main()
