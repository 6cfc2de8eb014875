#!/usr/bin/env python3
"""Prints the files that the compiler reads to compile some sources: compiled_sources.py FOLDER SOURCE..., one per line. FOLDER is
a build folder with compile_commands.json. A source that is compiled with its whole folder is replaced by the file that includes it."""

import json
import pathlib
import re
import sys


def compiled_sources(build, wanted):
    """Returns the files, without repetition, in the order of the build. A source that is not compiled has none."""
    for command in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        file = pathlib.Path(command["file"])
        included = [file]
        if "Unity" in file.parts:
            included = map(pathlib.Path, re.findall(r'^#include "(.+)"$', file.read_text(encoding="utf-8"), re.MULTILINE))
        if not wanted.isdisjoint(included):
            yield file


if __name__ == "__main__":
    print(*dict.fromkeys(compiled_sources(pathlib.Path(sys.argv[1]), {pathlib.Path(name).resolve() for name in sys.argv[2:]})), sep="\n")
