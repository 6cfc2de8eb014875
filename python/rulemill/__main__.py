"""The command `rulemill`, also as `python -m rulemill`: becomes the program, with the same arguments."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from . import program
from .errors import Error


def main() -> NoReturn:
    try:
        command = program.launcher()
    except Error as error:
        sys.exit(f"rulemill: {error}")
    os.execve(command, ["rulemill", *sys.argv[1:]], program.environment())


if __name__ == "__main__":
    main()
