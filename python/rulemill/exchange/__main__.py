"""`python3 rulemill/exchange/__main__.py`: the helper process."""

import pathlib
import sys

if __name__ == "__main__":
    # The package by itself, without the modules of `rulemill`, which it does not need.
    sys.path[0] = str(pathlib.Path(__file__).resolve().parents[1])
    from exchange.process import main  # type: ignore[import-not-found]

    sys.exit(main())
