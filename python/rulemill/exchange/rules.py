"""Typed rules as the program sends them, the file that a writer makes of them, and names of the text form."""

from __future__ import annotations

import itertools
import operator
import re
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Set, Tuple

from .errors import NotExpressible
from .sizes import evaluate, parse_size

#: JSON (algebra/exchange/rule_data.h). A node is the data of an operator instance with its terms: "arguments", and
#: "terms", its outputs.
Data = Dict[str, Any]
_MAX_COLUMNS = 110
_WORDS = ("rule", "property", "let", "when", "core", "derived", "of", "positive")
_COMPARE = {"=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le}


class Side(NamedTuple):
    nodes: List[Data]  # arguments before users
    outputs: List[int]


class Rule:
    """A typed rule at fixed ranks. Terms are numbers: those of the variables, then those of the nodes' outputs."""

    def __init__(self, data: Data) -> None:
        self.name: str = data["name"]
        self.variables: List[str] = data["variables"]
        self.nodes: List[Data] = data["nodes"]
        self.source, self.target = (Side([self.nodes[number] for number in data[side]["nodes"]], data[side]["outputs"])
                                    for side in ("source", "target"))
        self.kinds: List[str] = [each["kind"] for each in data["terms"]]
        self.shapes = [[parse_size(size) for size in each["shape"]] for each in data["terms"]]
        self.conditions, self.facts = ([(parse_size(a), str(sign), parse_size(b)) for a, sign, b in data[key]]
                                       for key in ("conditions", "facts"))
        lists = [each["value"] for node in self.nodes for each in node["parameters"] if isinstance(each["value"], list)]
        symbolic = [parse_size(value) for values in lists for value in values if isinstance(value, str)]
        #: The sizes that are symbolic parameters, and all sizes.
        self.symbolic: Set[str] = set().union(*(size.names() for size in symbolic))
        sizes = [size for shape in self.shapes[:len(self.variables)] for size in shape]
        sizes += [side for a, _, b in self.conditions for side in (a, b)]
        sizes += [parse_size(each) for node in self.nodes for each in node["sizes"]]
        self.size_names: Set[str] = self.symbolic.union(*(size.names() for size in sizes))

    def is_variable(self, term: int) -> bool:
        return term < len(self.variables)

    def binds_all(self, side: Side) -> bool:
        """Whether a side has all variables."""
        return set(range(len(self.variables))) <= set(side.outputs).union(*(node["arguments"] for node in side.nodes))

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Whether types and conditions hold at these sizes."""
        shapes = self.shapes[:len(self.variables)]
        return all(evaluate(size, sizes) >= 1 for shape in shapes for size in shape) and all(
            _COMPARE[sign](evaluate(a, sizes), evaluate(b, sizes)) for a, sign, b in [*self.conditions, *self.facts])


#: Returns texts of a form, and what else is kept of each.
Writer = Callable[[], Iterable[Tuple[str, Any]]]


class Report:
    """The rules of a file, and those that it lacks, with the reason."""

    def __init__(self) -> None:
        self.written: List[str] = []
        self.skipped: List[Data] = []
        self.goals: List[Rule] = []

    def rules(self, messages: Iterator[Data], writers: Callable[[Rule], Iterable[Writer]],
              reason: str) -> Iterator[Tuple[Data, Dict[str, List[Any]]]]:
        """Each rule of the program with the texts of its forms, sorted, and what is kept of the forms. Skips those
        without a text: `reason` is that of a rule without forms."""
        rule: Data = {}
        written: Dict[str, List[Any]] = {}
        why = reason
        for message in itertools.chain(messages, [{}]):
            if "form" in message:
                for write in writers(Rule(message["form"])):
                    try:
                        for text, rest in write():
                            written.setdefault(text, []).append(rest)
                    except NotExpressible as error:
                        why = str(error)
                continue
            if written:
                self.written.append(rule["rule"])
                yield rule, dict(sorted(written.items()))
            elif rule:
                self.skip(rule["rule"], why)
            rule, written, why = message if "rule" in message else {}, {}, reason
            if "skipped" in message:
                self.skip(message["skipped"], message["reason"])
            elif "goal" in message:
                self.goals.append(Rule(message["goal"]))

    def skip(self, rule: str, reason: str) -> None:
        self.skipped.append({"rule": rule, "reason": reason})

    def result(self, title: str, comment: str, text: str) -> Data:
        """The file: a header that lists the skipped rules, then the text."""
        header = f"{comment}{title}: {len(self.written)} rules, {len(self.skipped)} skipped.\n"
        for reason in sorted({each["reason"] for each in self.skipped}):
            lines = [""]
            names = [each["rule"] for each in self.skipped if each["reason"] == reason]
            for name in names:
                lines += [""] if lines[-1] and len(lines[-1]) + len(name) > _MAX_COLUMNS else []
                lines[-1] += " " + name
            header += f"{comment}skipped {len(names)}, since {reason}:\n"
            header += "".join(f"{comment} {line}\n" for line in lines)
        return {"text": header + text, "written": self.written, "skipped": self.skipped}


def identifier(name: str) -> str:
    """The name with underscores for what a language does not allow in names."""
    return re.sub("[^A-Za-z0-9]", "_", name)


def rule_name(written: str) -> str:
    """An identifier that begins with a letter and is no word of the text form of rules."""
    name = identifier(written)
    return name if name[:1].isalpha() and name not in _WORDS else "x" + name


class Names:
    """Identifiers of the text form for the names in a file, such as ?x. Different names get different ones."""

    def __init__(self) -> None:
        self.used: Set[str] = set()
        self._known: Dict[str, str] = {}

    def of(self, written: str) -> str:
        if written not in self._known:
            name = rule_name(written[1:] if written.startswith("?") else written)
            while name in self.used:
                name += "_"
            self.used.add(name)
            self._known[written] = name
        return self._known[written]


def call_text(operator_name: str, arguments: Iterable[str], parameters: str) -> str:
    """A term in the text form."""
    return f"{operator_name}({', '.join(arguments)}{'; ' if parameters else ''}{parameters})"
