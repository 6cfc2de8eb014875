"""`python3 rulemill/ci/__main__.py REQUEST`: the helper process; REQUEST is JSON (cli/rules/ci.cc)."""

import json
import pathlib
import sys

if __name__ == "__main__":
    sys.path[0] = str(pathlib.Path(__file__).resolve().parents[2])
    from rulemill.ci.verdicts import main

    sys.exit(main(json.loads(sys.argv[1])))
