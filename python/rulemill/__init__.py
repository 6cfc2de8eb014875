"""Discovers, proves and applies rewrite rules for deep-learning compilers.

    import rulemill
    result = rulemill.optimize("model.onnx", out="faster.onnx")
    print(result.speedup)

All work is done by the program `rulemill` in another process: threads of Python go on meanwhile, and Ctrl-C ends it. docs/python.md
has an example of each function. NumPy is needed for tensors, onnx for `Result.model`; both are imported when they are used."""

from . import program
from .databases import Database, Rule, default_rules, load
from .discovery import discover
from .equality import Equality, equal
from .errors import Error, InputError, Interrupted, UsageError
from .operators import Operator, evaluate, operators
from .optimization import FiredRule, Result, Speedup, Verification, optimize
from .proofs import Counterexample, Verdict, prove

__all__ = [
    "Counterexample", "Database", "Equality", "Error", "FiredRule", "InputError", "Interrupted", "Operator", "Result", "Rule", "Speedup",
    "UsageError", "Verdict", "Verification", "default_rules", "discover", "equal", "evaluate", "load", "operators", "optimize", "prove",
]


def __getattr__(name: str) -> str:
    if name == "__version__":
        return program.version()
    raise AttributeError(f"module 'rulemill' has no attribute {name!r}")
