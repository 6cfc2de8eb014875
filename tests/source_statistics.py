#!/usr/bin/env python3
"""Prints files and lines by folder, and the longest files and functions: source_statistics.py [ROOT]"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
SOURCES = {".cc", ".h", ".cu"}
LONG_FUNCTION = 50

# Comments, strings and characters, whose braces are ignored.
NOT_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^\s()\\]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])*\'', re.S
)
# The text before a function's opening brace: its parameters, qualifiers, return type and initializers.
FUNCTION = re.compile(r"\)\s*(const|noexcept|override|final|mutable|\s|->[\w\s:<>,*&]+|:[^;{}]*(\{[^{}]*\}[^;{}]*)*)*$", re.S)
NOT_A_FUNCTION = re.compile(r"^\s*(namespace|class|struct|union|enum|extern)\b|=\s*$")


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def functions(text):
    """Returns (first line, lines, name) of every function that is not nested in another one."""
    text = NOT_CODE.sub(blank, text)
    text = re.sub(r"^[ \t]*#.*(\\\n.*)*", blank, text, flags=re.M)
    stack, start, depth_in_function, found = [], 0, 0, []
    for match in re.finditer(r"[{};]", text):
        position = match.start()
        if match.group(0) == "{":
            head = text[start:position]
            is_function = not depth_in_function and "(" in head and not NOT_A_FUNCTION.search(head) and FUNCTION.search(head)
            if depth_in_function:
                depth_in_function += 1
            elif is_function:
                depth_in_function = 1
            elif re.search(r"[\w)>,]\s*$", head) and not re.search(r"\b(namespace|class|struct|union|enum|extern)\b", head):
                # An initializer's braces: the declaration continues after them.
                stack.append((start, None))
                start = position + 1
                continue
            stack.append((start if is_function else None, head))
            if not depth_in_function:
                start = position + 1
        elif match.group(0) == "}":
            begin, head = stack.pop() if stack else (None, None)
            if begin is not None and head is None:
                start = begin
                continue
            if depth_in_function:
                depth_in_function -= 1
                if depth_in_function == 0 and begin is not None:
                    first = text.count("\n", 0, begin + len(head) - len(head.lstrip())) + 1
                    last = text.count("\n", 0, position) + 1
                    name = re.search(r"([~\w:]+|operator[^\s(]+)\s*\(", head)
                    found.append((first, last - first + 1, name.group(1) if name else "?"))
            if not depth_in_function:
                start = position + 1
        elif not depth_in_function:
            start = position + 1
    return found


def main():
    folders = collections.OrderedDict()
    files, long_functions = [], []
    for folder in sorted(p for p in ROOT.iterdir() if p.is_dir() and p.name not in ("build", "tests", "bench", "docs")):
        for path in sorted(p for p in folder.rglob("*") if p.suffix in SOURCES):
            text = path.read_text(encoding="utf-8")
            lines = text.count("\n")
            place = path.relative_to(ROOT).as_posix()
            subfolder = "/".join(place.split("/")[:-1])
            count = folders.setdefault(subfolder, [0, 0])
            count[0] += 1
            count[1] += lines
            files.append((lines, place))
            long_functions += [(length, f"{place}:{first}", name) for first, length, name in functions(text)]
    print(f"{'folder':28} files  lines")
    for name, (count, lines) in folders.items():
        print(f"{name:28} {count:5} {lines:6}")
    print(f"{'total':28} {len(files):5} {sum(lines for lines, _ in files):6}")
    above = sorted((f for f in long_functions if f[0] > LONG_FUNCTION), reverse=True)
    print(f"\n{len(long_functions)} functions, {len(above)} of more than {LONG_FUNCTION} lines")
    for length, place, name in above:
        print(f"{length:4}  {place}  {name}")
    print("\nlongest files")
    for lines, place in sorted(files, reverse=True)[:8]:
        print(f"{lines:4}  {place}")


if __name__ == "__main__":
    main()
