"""An egglog program: a constructor per operator and ranks, rules that compute shapes, and rules that unite the outputs
of both sides where the shapes and the condition fit. It ends with a block per goal, headed `; goal NAME`: its
variables, and its sides as `$NAME.source.K` and `$NAME.target.K`."""

from __future__ import annotations

import pathlib
import random
from typing import Callable, Dict, Iterable, Iterator, List, Optional, Set, Tuple

from .errors import NotExpressible
from .rules import Data, Report, Rule, Side, Writer
from .sizes import Atom, Size, evaluate, parse_size

_PRIMES = [7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83]
_MAX_ATTEMPTS = 2000
_NOT_DETERMINED = "its sizes do not follow from the shapes one by one"


class _Query:
    """The body of a rule. egglog has integer variables, but no equations of polynomials: a compound size in a pattern
    becomes a variable of its own, and `solve` adds facts that determine the sizes in it, or compare it."""

    def __init__(self) -> None:
        self.facts: List[str] = []
        self._known: Set[str] = set()
        self._equations: List[Tuple[str, Size]] = []
        self._count = 0

    def _fresh(self) -> str:
        self._count += 1
        return f"v{self._count}_"

    def pattern(self, size: Size) -> str:
        """An integer of this value."""
        if size.constant is not None:
            return str(size.constant)
        if size.name is not None:
            self._known.add(size.name)
            return size.name
        self._equations.append((self._fresh(), size))
        return self._equations[-1][0]

    def solve(self) -> None:
        while self._equations:
            waiting = [each for each in self._equations if not self._determine(*each)]
            if len(waiting) == len(self._equations):
                raise NotExpressible(_NOT_DETERMINED)
            self._equations = waiting

    def _determine(self, variable: str, size: Size) -> bool:
        """Determines the last unknown size of `variable = size`, if its coefficient has known sizes only; compares."""
        unknown = sorted(size.names() - self._known)
        line = size.linear_in(unknown[0]) if len(unknown) == 1 else None
        if unknown and line is None:
            return False
        if line is not None:
            factor, rest = line
            difference = variable if rest.constant == 0 else f"(- {variable} {self.expression(rest)})"
            self.facts += [f"(= {unknown[0]} (/ {difference} {self.expression(factor)}))", f"(> {unknown[0]} 0)"]
            self._known.add(unknown[0])
        self.facts.append(f"(= {variable} {self.expression(size)})")
        return True

    def _atom(self, atom: Atom) -> str:
        if isinstance(atom, str):
            if atom not in self._known:
                raise NotExpressible(_NOT_DETERMINED)
            return atom
        left, right = self.expression(atom.left), self.expression(atom.right)
        if atom.function != "div":
            return f"({atom.function} {left} {right})"
        quotient = self._fresh()  # of numbers that are not negative, so that egglog rounds down
        self.facts += [f"(>= {left} 0)", f"(> {right} 0)", f"(= {quotient} (/ {left} {right}))"]
        return quotient

    def expression(self, size: Size) -> str:
        """The value over determined sizes."""
        total = ""
        for monomial, coefficient in sorted(size.terms, key=lambda term: term[1] < 0):
            product = "" if monomial and abs(coefficient) == 1 else str(abs(coefficient))
            factors = ""
            for factor in map(self._atom, monomial):
                factors = f"(* {factors} {factor})" if factors else factor
            product = f"(* {product} {factors})" if product and factors else product or factors
            if coefficient < 0:
                total = f"(- {total or '0'} {product})"
            else:
                total = f"(+ {total} {product})" if total else product
        return total or "0"

    def compare(self, left: Size, sign: str, right: Size) -> None:
        a, b = self.expression(left), self.expression(right)
        self.facts.append(f"({sign} {a} {b})")


def _constructor(data: Data) -> Tuple[List[str], List[Size]]:
    """The names of an operator by output, and its integer arguments. Other parameters are part of the name."""
    name, numbers = data["operator"], []
    for tensor in data["inputs"] or data["outputs"][:1]:
        name += f"-{len(tensor['shape'])}"
    for each in data["parameters"]:
        values = list(map(str, each["value"] if isinstance(each["value"], list) else [each["value"]]))
        if each["kind"] in ("int", "ints"):
            numbers += values
        else:
            name += f"-{each['name']}.{'.'.join(values)}"
    names = [name] if len(data["outputs"]) == 1 else [f"{name}-{output['name']}" for output in data["outputs"]]
    return names, list(map(parse_size, [*numbers, *data["sizes"]]))


class _Program:
    def __init__(self) -> None:
        self.constructors: Dict[str, str] = {}
        self.commutative: Dict[str, str] = {}
        self.declared: Set[str] = set()
        self.ranks: Set[int] = set()
        self.shape_rules = ""

    def shape(self, tensor: str, sizes: Iterable[str]) -> str:
        dimensions = list(sizes)
        self.ranks.add(len(dimensions))
        return f"({' '.join([f'shape{len(dimensions)}', tensor, *dimensions])})"

    def declare(self, rule: Rule) -> None:
        """Declares a constructor per output of each operator, and adds the rules of their shapes."""
        for general in (node["general"] for node in rule.nodes):
            if str(general) in self.declared:
                continue
            self.declared.add(str(general))
            names, numbers = _constructor(general)
            for name, output in zip(names, general["outputs"]):
                self.constructors[name] = " Tensor" * len(general["inputs"]) + " i64" * len(numbers)
                self.add_shape_rule(general, name, numbers, output)
            if general["commutative"]:
                rest = "".join(f" n{i}" for i in range(len(numbers)))
                self.commutative[names[0]] = f"(rewrite ({names[0]} a b{rest}) ({names[0]} b a{rest}))\n"

    def add_shape_rule(self, general: Data, name: str, numbers: List[Size], output: Data) -> None:
        query = _Query()
        inputs = [f"t{i}" for i in range(len(general["inputs"]))]
        query.facts.append(f"(= e ({' '.join([name, *inputs, *map(query.pattern, numbers)])}))")
        for tensor, each in zip(inputs, general["inputs"]):
            query.facts.append(self.shape(tensor, map(query.pattern, map(parse_size, each["shape"]))))
        query.solve()
        for left, sign, right, _ in general["conditions"]:
            query.compare(parse_size(left), sign, parse_size(right))
        shape = self.shape("e", map(query.expression, map(parse_size, output["shape"])))
        self.shape_rules += f"(rule ({' '.join(query.facts)})\n  ({shape}))\n"

    def term(self, rule: Rule, term: int, variable: str, number: Callable[[Size], str]) -> str:
        """A term as text; `variable` is the form of a variable's name."""
        if rule.is_variable(term):
            return variable.format(rule.variables[term])
        node = next(each for each in rule.nodes if term in each["terms"])
        names, numbers = _constructor(node)
        arguments = [self.term(rule, each, variable, number) for each in node["arguments"]]
        return f"({' '.join([names[node['terms'].index(term)], *arguments, *map(number, numbers)])})"

    def write_rule(self, rule: Rule, source: Side, target: Side) -> str:
        """The rule as text: where the source is found, both sides are united."""
        query = _Query()
        for r, term in enumerate(source.outputs):
            if rule.is_variable(term):
                raise NotExpressible("an output of its pattern is an input")
            query.facts.append(f"(= e{r}_ {self.term(rule, term, '?{}', query.pattern)})")
        for name, shape in zip(rule.variables, rule.shapes):
            query.facts.append(self.shape("?" + name, map(query.pattern, shape)))
        query.solve()
        for condition in rule.conditions:
            query.compare(*condition)
        targets = [self.term(rule, term, "?{}", query.expression) for term in target.outputs]
        unions = [f"(union e{r}_ {term})" for r, term in enumerate(targets)]
        self.declare(rule)
        return "(rule (" + "\n       ".join(query.facts) + ")\n  (" + "\n   ".join(unions) + "))\n"

    def write_goal(self, goal: Rule, sizes: Dict[str, int]) -> str:
        variable, text = f"${goal.name}.{{}}", f"; goal {goal.name}\n"

        def number(size: Size) -> str:
            return str(evaluate(size, sizes))

        for name, shape in zip(goal.variables, goal.shapes):
            tensor = variable.format(name)
            text += f'(let {tensor} (variable "{name}"))\n{self.shape(tensor, map(number, shape))}\n'
        for side, outputs in (("source", goal.source.outputs), ("target", goal.target.outputs)):
            for r, term in enumerate(outputs):
                text += f"(let ${goal.name}.{side}.{r} {self.term(goal, term, variable, number)})\n"
        self.declare(goal)
        return text

    def declarations(self) -> str:
        text = "(datatype Tensor\n  (variable String)"
        text += "".join(f"\n  ({name}{types})" for name, types in sorted(self.constructors.items()))
        text += ")\n\n; shapeR: the dimensions of a tensor of rank R\n"
        text += "".join(f"(relation shape{rank} (Tensor{' i64' * rank}))\n" for rank in sorted(self.ranks))
        text += f"\n; shapes of results\n{self.shape_rules}\n; commutative operators\n"
        return text + "".join(self.commutative.values())


def _goal_sizes(goal: Rule) -> Optional[Dict[str, int]]:
    """Numbers for the sizes of a goal that its types and condition allow, different ones if possible."""
    numbers = random.Random(1)
    for attempt in range(_MAX_ATTEMPTS):
        sizes = {}
        for i, name in enumerate(sorted(goal.size_names)):
            is_small = name in goal.symbolic or attempt % 3 == 1 or (attempt % 3 == 2 and numbers.random() < 0.5)
            choices = [1, 2, 3] if is_small else _PRIMES
            sizes[name] = choices[i % len(choices)] if attempt == 0 else numbers.choice(choices)
        if goal.holds(sizes):
            return sizes
    return None


def write(request: Data, messages: Iterator[Data]) -> Data:
    """Each rule in both directions. Where neither side has all variables, the others range over their tensors."""
    report, program, text = Report(), _Program(), ["\n; rules\n"]

    def directions(form: Rule) -> List[Writer]:
        pairs = ((form.source, form.target), (form.target, form.source))
        return [lambda sides=sides: [(program.write_rule(form, *sides), None)]  # type: ignore[misc]
                for sides in pairs if form.binds_all(sides[0]) or not form.binds_all(sides[1])]

    for rule, written in report.rules(messages, directions, "it has no form of ranks up to 4"):
        statement = rule["text"].rstrip("\n").replace("\n", "\n; ")
        text += [f"\n; {statement}\n; {rule['proof']}\n", *written]
    for goal in report.goals:
        sizes = _goal_sizes(goal)
        if sizes is None:
            report.skip("goal " + goal.name, "no small sizes meet its condition")
        else:
            text.append("\n" + program.write_goal(goal, sizes))
    prelude = pathlib.Path(request["data"], "exports", "egglog.egg").read_text(encoding="utf-8")
    return report.result(request["title"], "; ", prelude + program.declarations() + "".join(text))
