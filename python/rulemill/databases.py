"""Rule databases."""

from __future__ import annotations

import pathlib
import re
import tempfile
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Tuple

from . import program
from .program import PathLike

if TYPE_CHECKING:
    from .optimization import Model, Result

_VARIABLE = re.compile(r"(\w+)(\[[^\]]*\](?: of \w+)?|:\d+)")


def variables_of(text: str) -> Dict[str, str]:
    """The variables of a rule's text with their types: {"x": "[m, k]"}."""
    header = text.split("\n")[0]
    return dict(_VARIABLE.findall(header[header.index("("):]))


class Rule:
    """A proved rule.

    `id`; `text`: the rule as a text that `prove` reads; `variables`: their types by name; `condition`: relations between sizes
    under which it holds; `tier`: "core" or "derived"; `proof`: "definitions" or "derivation"; `reversible`: it may also be read from
    right to left."""

    def __init__(self, database: "Database", raw: Mapping[str, Any]) -> None:
        self._database = database
        self._details: Optional[Dict[str, Any]] = None
        self.raw = raw
        self.id: str = raw["id"]
        self.text: str = raw["text"]
        self.tier: str = raw["tier"]
        self.proof: str = raw["proof"]
        self.reversible: bool = raw["reversible"]
        self.condition: Tuple[str, ...] = tuple(raw["condition"])
        self.variables: Dict[str, str] = variables_of(self.text)

    @property
    def certificate(self) -> str:
        """The proof, in the form that `rulemill check` checks."""
        return str(self._shown()["certificate"])

    @property
    def assumed_laws(self) -> List[str]:
        """The laws of scalar functions that the proof uses and that are tested but not proved."""
        return list(self._shown()["assumed_laws"])

    def draw(self) -> str:
        """Both sides as graphs, drawn with characters, and the type of each node."""
        return str(self._shown()["drawing"])

    def apply(self, model: "Model", **options: Any) -> "Result":
        """Optimizes a model with this rule only; options as of `optimize`. The rule is proved again."""
        from .optimization import optimize
        with tempfile.TemporaryDirectory(prefix="rulemill-") as folder:
            file = pathlib.Path(folder) / "one.rules"
            file.write_text(self.text, encoding="utf-8")
            definitions = self._database.definitions
            program.run("rules", "import", file, "--out", folder, *program.option_words({"definitions": definitions}))
            return optimize(model, rules=folder, definitions=definitions, **options)

    def _shown(self) -> Dict[str, Any]:
        if self._details is None:
            self._details = program.run("rules", "show", self._database.path, self.id, *self._database.words())
        return self._details

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<rulemill.Rule {self.id}: {' '.join(self.text.split(chr(10), 1)[-1].split())}>"


class Database:
    """The rules of a database, a sequence; `database["r12"]` is a rule by its id."""

    def __init__(self, path: PathLike, definitions: Optional[PathLike] = None) -> None:
        self.path = pathlib.Path(path)
        self.definitions = definitions
        self._rules = [Rule(self, raw) for raw in program.run("rules", "list", self.path, "--all", "--no-gain", *self.words())["rules"]]
        self._by_id = {rule.id: rule for rule in self._rules}

    def words(self) -> List[str]:
        return program.option_words({"definitions": self.definitions})

    def __len__(self) -> int:
        return len(self._rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules)

    def __getitem__(self, key: "int | str") -> Rule:
        return self._by_id[key] if isinstance(key, str) else self._rules[key]

    def __contains__(self, id: object) -> bool:
        return id in self._by_id

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"<rulemill.Database {self.path}: {len(self)} rules>"


def load(database: PathLike, definitions: Optional[PathLike] = None) -> Database:
    """Loads a rule database (*.rmdb), or the one in a folder. `definitions`: a folder of operator definitions, if the rules use
    others than the installed ones."""
    return Database(database, definitions)


def default_rules(definitions: Optional[PathLike] = None) -> Database:
    """Loads the rules that `optimize` uses by default. The package has them for its own definitions; for others they are made on
    first use, which takes about half a minute, and kept in the user's cache folder."""
    report = program.run("rules", "default", *program.option_words({"definitions": definitions}))
    return Database(report["database"], definitions)
