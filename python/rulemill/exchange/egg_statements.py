"""The rules of an egg or egglog text, before their operators are looked up. The forms are

  (rewrite SOURCE TARGET)  (birewrite A B)            ; egglog; options: :when (FACT…) :name "NAME"
  (rule ((= e SOURCE) FACT…) ((union e TARGET)))      ; egglog; several outputs are several unions
  rw!("NAME"; "SOURCE" => "TARGET")                   ; egg, in Rust; also rewrite! and <=>
  NAME: SOURCE => TARGET                              ; egg's patterns as text; the name may be missing

Other commands of egglog, such as declarations, are skipped."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from .errors import Places, Problem
from .s_expressions import Reader, SExpression, is_integer, is_shape, is_size

# Commands of egglog that state no rule. `shapeR` states dimensions in exported programs.
_OTHER_COMMANDS = frozenset("""datatype datatype* sort function constructor relation ruleset unstable-combined-ruleset
    let set union delete subsume run repeat run-schedule check fail extract query-extract prove print-size print-function
    print-stats push pop include input output set-option""".split())


class Statement:
    """A rule as written. `bindings` are names of patterns, `facts` other premises."""

    def __init__(self, name: str, place: str) -> None:
        self.name, self.place, self.problem, self.directed = name, place, "", True
        self.source: List[SExpression] = []  # by output
        self.target: List[SExpression] = []
        self.facts: List[SExpression] = []
        self.bindings: Dict[str, SExpression] = {}

    def add_facts(self, facts: SExpression) -> None:
        if facts.items is None:
            facts.fail(f"expected a list of facts, found {facts}")
        for fact in facts.items:
            binding = _binding_of(fact)
            if binding:
                self.bind(*binding)
            else:
                self.facts.append(fact)

    def bind(self, name: SExpression, term: SExpression) -> None:
        if name.text in self.bindings:
            name.fail(f"{name.text} already names another pattern")
        self.bindings[name.text] = term

    def add_actions(self, actions: SExpression) -> bool:
        """False if the actions unite nothing."""
        if actions.items is None:
            actions.fail(f"expected a list of actions, found {actions}")
        for action in actions.items:
            operands = action.operands(2)
            if operands and action.head == "let":
                self.bind(*operands)
            elif operands and action.head == "union":
                self.source.append(operands[0])
                self.target.append(operands[1])
        return bool(self.source)

    def read_options(self, options: List[SExpression]) -> None:
        """:when (FACT…) :name "NAME" :ruleset NAME :subsume :naive"""
        given = iter(options)
        for option in given:
            if option.text in (":subsume", ":naive"):
                continue
            value = next(given, None) if option.text in (":when", ":name", ":ruleset") else None
            if value is None:
                option.fail(f'expected :when (FACT…), :name "NAME", :ruleset NAME or :subsume, found {option}')
            if option.text == ":when":
                self.add_facts(value)
            elif option.text == ":name":
                self.name = value.text


def _binding_of(fact: SExpression) -> Optional[Tuple[SExpression, SExpression]]:
    """The name and the pattern of (= e (matmul ?a ?b))."""
    operands = fact.operands(2) if fact.head == "=" else None
    for name, term in (operands, operands[::-1]) if operands else ():
        if name.is_atom and not is_integer(name.text) and term.items is not None and not is_size(term):
            return name, term
    return None


class _TextReader:
    """A rule file, read one rule at a time."""

    def __init__(self, text: str, places: Places) -> None:
        self.places, self.reader = places, Reader(text, places)
        self.is_complete = False  # the current rule was read to its end, so that an error does not affect the next

    def read(self) -> List[Statement]:
        statements = []
        while not self.reader.at_end():
            begin = self.reader.at
            statement = Statement(f"line_{self.places.position(begin)[0]}", self.places.of(begin))
            self.is_complete = False
            try:
                if self.read_statement(statement):
                    statements.append(statement)
            except Problem as problem:
                statement.place, statement.problem = problem.place, problem.message
                statements.append(statement)
                if not self.is_complete:
                    self.reader.at = begin
                    self.reader.skip_to_next_line_start()
        return statements

    def read_statement(self, statement: Statement) -> bool:
        """False for a command that states no rule."""
        first = self.reader.read()
        if first.is_atom and first.text.endswith("!"):
            return self.read_macro(first, statement)
        if first.is_atom and len(first.text) > 1 and first.text.endswith(":"):
            statement.name = first.text[:-1]
            return self.read_patterns(self.reader.read(), statement)
        if first.items is None and self.reader.accept(":"):
            statement.name = first.text
            return self.read_patterns(self.reader.read(), statement)
        if self.accept_arrow(statement):
            statement.source = [first]
            return self.read_target(statement)
        self.is_complete = first.items is not None
        return self.interpret(first, statement)

    def accept_arrow(self, statement: Statement) -> bool:
        statement.directed = self.reader.accept("=>")
        return statement.directed or self.reader.accept("<=>")

    def read_patterns(self, source: SExpression, statement: Statement) -> bool:
        statement.source = [self.pattern(source)]
        if not self.accept_arrow(statement):
            self.reader.fail("expected => or <=> after the source")
        return self.read_target(statement)

    def read_target(self, statement: Statement) -> bool:
        statement.target = [self.pattern(self.reader.read())]
        self.reader.at_end()
        place = self.places.of(self.reader.at)
        if self.reader.accept("if"):
            raise Problem(place, "a condition in Rust cannot be read; state it as :when ((= m n))")
        if self.reader.accept(":when"):
            statement.add_facts(self.reader.read())
        return True

    def read_macro(self, macro: SExpression, statement: Statement) -> bool:
        """rw!("name"; "source" => "target")"""
        if macro.text not in ("rw!", "rewrite!"):
            macro.fail(f"expected rw! or rewrite!, found {macro.text}")
        self.expect("(", "after " + macro.text)
        name = self.reader.read()
        if name.items is not None:
            name.fail("expected the rule's name")
        statement.name = name.text
        self.expect(";", "after the rule's name")
        self.read_patterns(self.reader.read(), statement)
        self.expect(")", "after the rule")
        return True

    def expect(self, token: str, where: str) -> None:
        if not self.reader.accept(token):
            self.reader.fail(f"expected {token} {where}")

    @staticmethod
    def pattern(given: SExpression) -> SExpression:
        """A pattern by itself, or as a string."""
        if not given.is_string:
            return given
        line, column = given.places.position(given.at)
        inner = Reader(given.text, Places(given.text, given.places.origin, line, column + 1))
        result = inner.read()
        if not inner.at_end():
            inner.fail("expected the end of the pattern")
        return result

    @staticmethod
    def interpret(command: SExpression, statement: Statement) -> bool:
        head, items = command.head, command.items or []
        if head in ("rewrite", "birewrite", "rule") and len(items) < 3:
            command.fail(f"expected {'premises and actions' if head == 'rule' else 'two patterns'} after {head}")
        if head in ("rewrite", "birewrite"):
            statement.directed = head == "rewrite"
            statement.source, statement.target = [items[1]], [items[2]]
            statement.read_options(items[3:])
            return True
        if head == "rule":
            statement.add_facts(items[1])
            statement.read_options(items[3:])
            statement.directed = True
            return statement.add_actions(items[2])
        if head in _OTHER_COMMANDS or is_shape(command):
            return False
        return command.fail("expected (rewrite …), (birewrite …), (rule …), rw!(…) or NAME: SOURCE => TARGET, found "
                            f"{command}")


def read_statements(text: str, origin: str) -> List[Statement]:
    """Splits a text into its rules. An error within a rule becomes its problem, with its place."""
    return _TextReader(text, Places(text, origin)).read()
