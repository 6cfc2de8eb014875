"""Discovery of rules."""

from __future__ import annotations

import os
from typing import Any, Optional

from . import program
from .databases import Database
from .program import PathLike, ProgressOption


def discover(profile: PathLike, out: PathLike, definitions: Optional[PathLike] = None, progress: ProgressOption = None,
             **options: Any) -> Database:
    """Finds, proves and prunes the rules of a profile (TOML), in the folder `out`.

    An interrupted call resumes if it is repeated. `progress` receives lines of text, or is True for a bar; `options` are those of
    `rulemill discover`, such as `max_ops=3`."""
    given = program.option_words({"profile": os.fspath(profile), "out": os.fspath(out), "definitions": definitions, **options})
    program.run("discover", *given, progress=progress)
    return Database(out, definitions)
