"""Rules of egg and egglog as readings in the text form: at each assignment of ranks to their variables that fits. The
forms of terms, with the operators of the definitions:

  (matmul ?a ?b)  (conv2d ?x ?k 2 same)  (conv2d ?x ?k :stride 2)  (transpose ?x (1 0))  (first (split ?x 1))
  (conv2d 2 same ?x ?k)                      ; parameters first, as TENSAT has them
  (avg_pool-4-pad.valid ?x 3 2)              ; a constructor of an exported program

Atoms where a tensor is expected are variables, with or without a question mark. An integer parameter may be a size
(?s, (+ m 1)). `shapeR` states dimensions: (shape2 ?x m k)."""

from __future__ import annotations

import itertools
from typing import Dict, List, NamedTuple, Optional, Set, Tuple

from .egg_arguments import Arguments
from .egg_statements import Statement, read_statements
from .errors import Problem
from .process import Operators
from .rules import Data, Names, call_text, rule_name
from .s_expressions import SExpression, is_shape, size_text

_MAX_TERM_DEPTH, _MAX_STATED_RANK, _MAX_RANK = 1000, 8, 4
_MAX_STEPS, _MAX_ASSIGNMENTS = 100_000, 200
_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
_STATE_SHAPES = "state shapes as :when ((shape2 ?x m n))"

Ranks = Tuple[int, ...]


class _Term(NamedTuple):
    """A variable, or an operator applied to earlier terms. `unknown` is the number of the variable's rank, or of the
    length of a list of sizes (`pack`) that are not stated."""

    place: str
    operator: str = ""  # empty for a variable
    arguments: Tuple[int, ...] = ()
    parameters: str = ""
    output: str = ""  # empty if there is only one
    ranks: Ranks = ()  # of the arguments, if they are stated
    pack: str = ""
    unknown: Optional[int] = None

    def call(self, arguments: List[str], pack_length: int) -> str:
        """The term as text, with `pack_length` sizes in its list of sizes."""
        parts = [self.parameters] * bool(self.parameters)
        parts += [f"{self.pack}=[{', '.join('?' * pack_length)}]"] * bool(self.pack)
        return call_text(self.operator, arguments, ", ".join(parts)) + ("." + self.output if self.output else "")


class _Unknown:
    """A variable's rank and its shape, if it is stated; without a variable: the length of a list of sizes."""

    def __init__(self, variable: str = "") -> None:
        self.variable = variable
        self.shape: Optional[List[str]] = None


class _Rule:
    """A rule without the ranks of its inputs. Swaps the sides of an undirected one if only the target has all
    variables."""

    def __init__(self, statement: Statement, operators: Operators) -> None:
        self.statement, self.operators = statement, operators
        self.name, self.place = rule_name(statement.name), statement.place
        self.terms: List[_Term] = []
        self.unknowns: List[_Unknown] = []
        self.conditions: List[str] = []
        self.variable_names, self.size_names = Names(), Names()
        self.variables: Dict[str, int] = {}    # as written: number of the unknown
        self.named_terms: Dict[str, int] = {}  # variables and patterns
        self.open: Set[str] = set()            # patterns that were begun
        self.depth = 0
        for fact in statement.facts:
            self.add_fact(fact)
        self.source, self.target = ([self.term(each) for each in side] for side in (statement.source, statement.target))
        for name, pattern in sorted(statement.bindings.items()):
            if name not in self.open:
                pattern.fail(f"expected a size, or a pattern of a side, found {pattern}")
        self.orient()

    def orient(self) -> None:
        # A stated shape binds its variable.
        stated = {number for number, each in enumerate(self.unknowns) if each.shape is not None}
        source, target = (stated | self.variables_of(side) for side in (self.source, self.target))
        if target <= source:
            return
        if self.statement.directed or not source <= target:
            extra = self.unknowns[min(target - source)].variable
            raise Problem(self.place, f"the target has the variable {extra}, which the source lacks")
        self.source, self.target = self.target, self.source

    def variables_of(self, side: List[int]) -> Set[int]:
        reached, waiting = set(side), list(side)
        while waiting:
            new = set(self.terms[waiting.pop()].arguments) - reached
            reached |= new
            waiting += new
        variables = (self.terms[each] for each in reached if not self.terms[each].operator)
        return {each.unknown for each in variables if each.unknown is not None}

    def add_fact(self, fact: SExpression) -> None:
        operands = fact.operands(2)
        if is_shape(fact):
            self.add_shape(fact)
        elif fact.head in _COMPARISONS and operands:
            left, right = (size_text(each, self.size_names) for each in operands)
            self.conditions.append(f"{left} {fact.head} {right}")
        else:
            fact.fail(f"expected a condition on sizes, as (= m (* 2 n)), or a shape, as (shape2 ?x m n), found {fact}")

    def add_shape(self, fact: SExpression) -> None:
        rank, items = fact.head[len("shape"):], (fact.items or [])[1:]
        if not items or len(items) > _MAX_STATED_RANK + 1 or rank != str(len(items) - 1):
            fact.fail(f"expected a tensor and {rank} sizes after {fact.head}, at most {_MAX_STATED_RANK}")
        if not items[0].is_atom or items[0].text in self.statement.bindings:
            items[0].fail(f"expected a variable, found {items[0]}")
        variable = self.unknowns[self.variable(items[0].text)]
        if variable.shape is not None:
            fact.fail(f"{items[0].text} has two shapes")
        variable.shape = [size_text(each, self.size_names) for each in items[1:]]

    def add(self, term: _Term) -> int:
        self.terms.append(term)
        return len(self.terms) - 1

    def term(self, expression: SExpression) -> int:
        if self.depth == _MAX_TERM_DEPTH:
            expression.fail(f"a term nested too deeply: more than {_MAX_TERM_DEPTH} operators")
        self.depth += 1
        number = self.atom(expression) if expression.items is None else self.call(expression)
        self.depth -= 1
        return number

    def atom(self, expression: SExpression) -> int:
        """A variable, or the name of a pattern."""
        name = expression.text
        if not expression.is_atom or name[name.startswith("-"):][:1].isdigit():
            expression.fail(f"expected a variable or a term, found {expression}")
        if name not in self.named_terms:
            if name not in self.statement.bindings:
                number = self.add(_Term(expression.place, unknown=self.variable(name)))
            elif name in self.open:
                expression.fail(f"{name} occurs in its own pattern")
            else:
                self.open.add(name)
                number = self.term(self.statement.bindings[name])
            self.named_terms[name] = number
        return self.named_terms[name]

    def variable(self, written: str) -> int:
        if written not in self.variables:
            self.variables[written] = len(self.unknowns)
            self.unknowns.append(_Unknown(self.variable_names.of(written)))
        return self.variables[written]

    def call(self, expression: SExpression) -> int:
        operator = expression.head.split("-")[0]
        if not operator:
            expression.fail(f"expected an operator and its arguments, found {expression}")
        signature = self.operators.signatures.get(operator)
        if signature is None:
            return self.output(expression, operator)
        given = Arguments(expression, operator, signature, self.size_names)
        arguments = tuple(self.term(each) for each in given.tensors)
        pack, unknown = signature["sizes"][-1].removesuffix("...") if signature["has_explicit_rank"] else "", None
        if pack in given.given:
            pack = ""
        elif pack:
            unknown = len(self.unknowns)
            self.unknowns.append(_Unknown())
        return self.add(_Term(expression.place, operator, arguments, given.parameters, given.output, tuple(given.ranks),
                              pack, unknown))

    def output(self, expression: SExpression, operator: str) -> int:
        """(first (split ?x 1)): one of several outputs."""
        operand = expression.operands(1)
        if operand is not None:
            operator = expression.head
            term = self.terms[self.term(operand[0])]
            outputs = self.operators.signatures[term.operator]["outputs"] if term.operator and not term.output else []
            if len(outputs) > 1 and operator in outputs:
                return self.add(term._replace(output=operator))
        return expression.fail(self.operators.describe(operator, [])["problem"])


class _Mismatch(Exception):
    """Ranks that do not fit. `is_other_fault`: they fit the operator."""

    def __init__(self, place: str, reason: str, is_other_fault: bool) -> None:
        super().__init__(reason)
        self.place, self.reason, self.is_other_fault = place, reason, is_other_fault


class _RankSearch:
    """Assigns ranks to the unknowns of a rule one by one. Terms are checked as soon as their ranks are known."""

    def __init__(self, rule: _Rule, operators: Operators) -> None:
        self.rule, self.operators = rule, operators
        self.order, self.checked = self._plan()
        self.ranks = [0] * len(rule.unknowns)
        self.term_ranks = [0] * len(rule.terms)
        self.found: List[Ranks] = []
        self.steps = 0
        self.progress: Tuple[int, int, bool] = (-1, 0, False)
        self.mismatch = Problem("", "")

    def _plan(self) -> Tuple[List[int], List[List[int]]]:
        """The unknowns, those of an operator before those of its users; the terms to check after so many unknowns."""
        rule, order = self.rule, {}  # type: Tuple[_Rule, Dict[int, int]]
        for term in rule.terms:
            if term.operator:
                for unknown in [*(rule.terms[each].unknown for each in term.arguments), term.unknown]:
                    if unknown is not None:
                        order.setdefault(unknown, len(order))
        for unknown in range(len(rule.unknowns)):
            order.setdefault(unknown, len(order))
        known_at: List[int] = []
        for term in rule.terms:
            own = 0 if term.unknown is None else order[term.unknown] + 1
            known_at.append(max([own, *(known_at[each] for each in term.arguments)]))
        used = set(rule.source + rule.target)
        for number in reversed(range(len(rule.terms))):
            used |= set(rule.terms[number].arguments) if number in used else set()
        checked: List[List[int]] = [[] for _ in range(len(order) + 1)]
        for number in sorted(used):
            checked[known_at[number]].append(number)
        return list(order), checked

    def run(self) -> List[Ranks]:
        """All assignments that fit, lowest first. Raises Problem if there is none, with the place and the reason of the
        one that comes closest, or if there are too many."""
        self._assign(0)
        if not self.found:
            raise self.mismatch
        return self.found

    def _assign(self, known: int) -> None:
        number = len(self.rule.terms)
        try:
            for number in self.checked[known]:
                self.term_ranks[number] = self._rank_of(self.rule.terms[number])
            if known == len(self.order):
                number = len(self.rule.terms)
                return self._keep()
        except _Mismatch as mismatch:
            progress = (known, number, mismatch.is_other_fault)
            if progress > self.progress:
                self.progress, self.mismatch = progress, Problem(mismatch.place, mismatch.reason)
            return
        shape = self.rule.unknowns[self.order[known]].shape
        for rank in range(_MAX_RANK + 1) if shape is None else [len(shape)]:
            self.ranks[self.order[known]] = rank
            self._assign(known + 1)

    def _keep(self) -> None:
        for source, target in zip(self.rule.source, self.rule.target):
            a, b = self.term_ranks[source], self.term_ranks[target]
            if a != b:
                raise _Mismatch(self.rule.place, f"the source has rank {a}, the target {b}", True)
        self.found.append(tuple(self.ranks))
        if len(self.found) > _MAX_ASSIGNMENTS:
            raise Problem(self.rule.place, f"too many ranks of its inputs fit; {_STATE_SHAPES}")

    def _rank_of(self, term: _Term) -> int:
        self.steps += 1
        if self.steps > _MAX_STEPS:
            raise Problem(self.rule.place, f"too many ranks of its inputs to try; {_STATE_SHAPES}")
        pack_length = 0 if term.unknown is None else self.ranks[term.unknown]
        if not term.operator:
            return pack_length
        ranks = [self.term_ranks[each] for each in term.arguments]
        if term.ranks and tuple(ranks) != term.ranks:
            stated, found = (", ".join(map(str, each)) for each in (term.ranks, ranks))
            raise _Mismatch(term.place, f"expected inputs of ranks {stated}, found {found}", False)
        described = self.operators.describe(
            term.call([f"x{i}" for i in range(len(ranks))], pack_length),
            [[f"d{i}_{d}" for d in range(rank)] for i, rank in enumerate(ranks)], pack_length)
        if "problem" in described:
            raise _Mismatch(term.place, described["problem"], described["fits"])
        return next(int(each["rank"]) for each in described["outputs"] if term.output in ("", each["name"]))


def _text_of(rule: _Rule, ranks: Ranks, inferred_sizes: List[str]) -> str:
    """The rule in the text form, with a `let` for each operator, so that shared terms are written once. If it states a
    shape, the other variables have `inferred_sizes`."""
    unused = iter(inferred_sizes)
    variables = []
    for unknown, rank in zip(rule.unknowns, ranks):
        if unknown.variable and inferred_sizes:
            variables.append(f"{unknown.variable}[{', '.join(unknown.shape or [next(unused) for _ in range(rank)])}]")
        elif unknown.variable:
            variables.append(f"{unknown.variable}:{rank}")
    text = f"rule {rule.name}({', '.join(variables)})\n"
    values: List[str] = []
    for number, term in enumerate(rule.terms):
        if term.operator:
            pack_length = 0 if term.unknown is None else ranks[term.unknown]
            call = term._replace(output="").call([values[each] for each in term.arguments], pack_length)
            text += f"  let _{number} = {call}\n"
            values.append(f"_{number}{'.' * bool(term.output)}{term.output}")
        elif term.unknown is not None:
            values.append(rule.unknowns[term.unknown].variable)
    source, target = (", ".join(values[each] for each in side) for side in (rule.source, rule.target))
    return text + f"  {source} => {target}\n" + (f"  when {', '.join(rule.conditions)}\n" if rule.conditions else "")


def _read(statement: Statement, operators: Operators) -> Data:
    result: Data = {"name": rule_name(statement.name), "place": statement.place, "problem": statement.problem}
    if statement.problem:
        return result
    try:
        rule = _Rule(statement, operators)
        unused = (name for name in map("d{}".format, itertools.count(1)) if name not in rule.size_names.used)
        states_shapes = any(each.shape is not None for each in rule.unknowns)
        inferred_sizes = list(itertools.islice(unused, _MAX_RANK * len(rule.unknowns) * states_shapes))
        readings = [_text_of(rule, ranks, inferred_sizes) for ranks in _RankSearch(rule, operators).run()]
    except Problem as problem:
        return {**result, "place": problem.place, "problem": problem.message}
    return {**result, "readings": readings, "states_shapes": states_shapes, "inferred_sizes": inferred_sizes}


def read(request: Data, operators: Operators) -> Data:
    statements = read_statements(request["text"], request["origin"])
    return {"statements": [_read(statement, operators) for statement in statements]}
