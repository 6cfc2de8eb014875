"""Patterns in MLIR's text of the PDL dialect."""

from __future__ import annotations

import re
from typing import Any, Dict, List, NoReturn, Optional, Set, Tuple

from .errors import Problem
from .mlir_text import MlirText
from .sizes import Expression, Size

_EXPECTED = {("type",): "a type", ("attribute",): "an attribute", ("operation",): "an operation",
             ("operand", "result"): "an operand or a result", ("operand", "operation"): "an operand or operation"}


class Node:
    """An operand of any operation, or an operation with one result."""

    def __init__(self, place: str, name: str, is_match: bool) -> None:
        self.place, self.name, self.is_match = place, name, is_match
        self.operation = ""  # "stablehlo.add"; empty for an operand
        self.operands: List[int] = []
        self.attributes: Dict[str, Optional[str]] = {}  # those without text may have any value
        self.type = 0

    def fail(self, message: str) -> NoReturn:
        raise Problem(self.place, message)


class Pattern:
    """A pattern that replaces `root` by `replacement`."""

    def __init__(self, name: str, place: str) -> None:
        self.name, self.place, self.problem = name, place, ""
        self.types: List[str] = []      # "tensor<2xf32>", or of rulemill.type; empty: any type
        self.unnamed: Set[int] = set()  # types of nodes that state none
        self.nodes: List[Node] = []     # operands before users
        self.root = self.replacement = 0
        #: The arguments of rulemill.fits, which states types, attributes and conditions (docs/export.md).
        self.specification: Any = None
        self.specified: List[int] = []  # nodes
        self.sizes: Dict[str, None] = {}  # the names of sizes, in the order of the text

    def fail(self, message: str) -> NoReturn:
        raise Problem(self.place, message)

    def size(self, text: str) -> Size:
        found: Size = Expression(text, self.place).value()
        self.sizes.update(dict.fromkeys(name for name in re.findall(r"[A-Za-z_]\w*", text) if name in found.names()))
        return found


class _Body:
    """Reads the body of one pattern."""

    def __init__(self, text: MlirText, pattern: Pattern) -> None:
        self.text, self.pattern, self.is_match = text, pattern, True
        self.values: Dict[str, Tuple[str, int]] = {}  # the kind, and the index of a type, an attribute or a node
        self.attributes: List[Tuple[Optional[str], int]] = []  # with the beginning of a constant

    def read(self) -> None:
        text = self.text
        text.expect("{", "a pattern's name and benefit")
        while not text.accept("pdl.rewrite"):
            if text.peek() == "}":
                text.fail("expected pdl.rewrite at the end of the pattern")
            self.statement()
        self.read_rewrite()
        text.expect("}", "pdl.rewrite")

    def value(self, name: str, *kinds: str) -> int:
        if name not in self.values:
            self.text.fail(f"%{name} is not defined before")
        kind, index = self.values[name]
        if kind not in kinds:
            self.text.fail(f"expected {_EXPECTED[kinds]}, and %{name} is none")
        return index

    def tensor(self, name: str) -> int:
        return self.value(name, "operand", "result")

    def define(self, name: str, kind: str, index: int) -> None:
        if name in self.values:
            self.text.fail(f"%{name} is defined twice")
        self.values[name] = (kind, index)

    def add_type(self, text: str) -> int:
        self.pattern.types.append(text)
        return len(self.pattern.types) - 1

    def add_attribute(self, name: str, text: Optional[str], begin: int = 0) -> None:
        self.define(name, "attribute", len(self.attributes))
        self.attributes.append((text, begin))

    def add_node(self, node: Node, type_name: str) -> None:
        if type_name:
            node.type = self.value(type_name, "type")
        else:
            node.type = self.add_type("")
            self.pattern.unnamed.add(node.type)
        self.pattern.nodes.append(node)
        self.define(node.name, "operation" if node.operation else "operand", len(self.pattern.nodes) - 1)

    def statement(self) -> None:
        text = self.text
        if text.accept("pdl.apply_native_constraint"):
            return self.native_constraint()
        if text.peek() != "%":
            text.fail(f"expected an operation of PDL that is read, found {text.next_text()}")
        place, name = text.place(), text.value_name("")
        node = Node(place, name, self.is_match)
        text.expect("=", f"%{name}")
        if text.accept("pdl.type"):
            self.define(name, "type", self.add_type(text.attribute() if text.accept(":") else ""))
        elif text.accept("pdl.operand"):
            if not self.is_match:
                text.fail("an operand within pdl.rewrite")
            self.add_node(node, text.value_name("':'") if text.accept(":") else "")
        elif text.accept("pdl.attribute"):
            if text.accept(":"):
                text.fail("expected a constant attribute, found one of a type")
            begin = text.at if text.accept("=") else 0
            self.add_attribute(name, text.attribute() if begin else None, begin)
        elif text.accept("pdl.operation"):
            self.read_operation(node)
        elif text.accept("pdl.result"):
            if text.word() != "0":
                text.fail("expected result 0: operations with several results are not read")
            text.expect("of", "the number of a result")
            self.define(name, "result", self.value(text.value_name("of"), "operation"))
        elif text.accept("pdl.apply_native_rewrite"):
            self.native_rewrite(name)
        else:
            text.fail(f"expected an operation of PDL that is read, found {text.next_text()}")
        return None

    def read_operation(self, node: Node) -> None:
        text = self.text
        node.operation = text.string("") if text.peek() == '"' else ""
        if not node.operation:
            text.fail("expected an operation's name: a pattern of any operation is no rule")
        if text.accept("("):
            node.operands = [self.tensor(each) for each in self.values_in_list("(")]
        if text.accept("{"):
            while not node.attributes or text.accept(","):
                key = text.string("'{'")
                text.expect("=", "an attribute's name")
                node.attributes[key] = self.attributes[self.value(text.value_name("="), "attribute")][0]
            text.expect("}", "an attribute")
        types = [""]
        if text.accept("->"):
            text.expect("(", "->")
            types = self.values_in_list("(")
            if len(types) != 1:
                text.fail("expected an operation of one result")
        self.add_node(node, types[0])

    def values_in_list(self, after: str) -> List[str]:
        """Reads "%a, %b : types)"."""
        text = self.text
        names = [text.value_name(after)]
        while text.accept(","):
            names.append(text.value_name(after))
        text.expect(":", "values")
        while True:
            text.expect("!", "':'")
            if text.word() == "pdl.range":
                text.fail("ranges of values are not read")
            if not text.accept(","):
                text.expect(")", "the types of values")
                return names

    def native(self, kind: str, known: Tuple[str, ...]) -> Tuple[str, List[str]]:
        """Reads a function's name and its arguments."""
        function = self.text.string(f"pdl.apply_native_{kind}")
        if function not in known:
            self.text.fail(f"the native {kind} '{function}' is not known")
        self.text.expect("(", "a function's name")
        return function, self.values_in_list("(")

    def constant(self, name: str, is_string: bool) -> Any:
        """The value of an attribute: a string, or data."""
        _, begin = self.attributes[self.value(name, "attribute")]
        if not begin:
            self.text.fail(f"%{name} has no value")
        end, self.text.at = self.text.at, begin
        value = self.text.string("=") if is_string else self.text.data()
        self.text.at = end
        return value

    def native_constraint(self) -> None:
        _, names = self.native("constraint", ("rulemill.fits",))
        if self.pattern.specification is not None:
            self.text.fail("rulemill.fits twice")
        self.pattern.specification = self.constant(names[0], False)
        self.pattern.specified = [self.value(each, "operand", "operation") for each in names[1:]]

    def native_rewrite(self, name: str) -> None:
        function, names = self.native("rewrite", ("rulemill.type", "rulemill.attribute"))
        self.text.expect(":", "the arguments of a native rewrite")
        self.text.expect("!", "':'")
        self.text.word()
        filled = self.constant(names[0], True)
        if function == "rulemill.type":
            self.define(name, "type", self.add_type(filled))
        else:
            self.add_attribute(name, filled)

    def read_rewrite(self) -> None:
        text, pattern = self.text, self.pattern
        named = self.value(text.value_name("pdl.rewrite"), "operation") if text.peek() == "%" else None
        if text.accept("with"):
            text.fail("a rewrite by a native function is not read")
        text.expect("{", "pdl.rewrite")
        self.is_match = False
        while not text.accept("pdl.replace"):
            self.statement()
        pattern.root = self.value(text.value_name("pdl.replace"), "operation")
        if named not in (None, pattern.root):
            text.fail("expected the replacement of the pattern's root")
        text.expect("with", "the replaced operation")
        if text.accept("("):
            names = self.values_in_list("(")
            if len(names) != 1:
                text.fail("expected one result of the replaced operation")
            pattern.replacement = self.tensor(names[0])
        else:
            pattern.replacement = self.value(text.value_name("with"), "operation")
        text.expect("}", "pdl.replace")
        self.require_one_root()

    def require_one_root(self) -> None:
        """An operation that the root does not use would be another condition."""
        nodes, root = self.pattern.nodes, self.pattern.root
        if not nodes[root].is_match:
            self.text.fail("the replaced operation is not one of the pattern")
        used = {root}
        for number in range(root, -1, -1):
            used |= set(nodes[number].operands) if number in used else set()
        for number, node in enumerate(nodes):
            if number not in used and node.is_match and node.operation:
                node.fail("the root does not use this operation")


def _symbol_name(text: MlirText) -> str:
    if not text.accept("@"):
        return ""
    return text.string("@") if text.peek() == '"' else text.word()


def _read_pattern(text: MlirText, place: str, number: int) -> Pattern:
    pattern = Pattern(_symbol_name(text) or f"pattern_{number}", place)
    text.expect(":", "a pattern's name")
    text.expect("benefit", "':'")
    text.expect("(", "benefit")
    text.word()
    text.expect(")", "a benefit")
    if text.peek() != "{":
        text.fail(f"expected '{{' after a pattern's benefit, found {text.next_text()}")
    begin = text.at
    text.skip_braces()
    end, text.at = text.at, begin
    try:
        _Body(text, pattern).read()
    except Problem as problem:
        pattern.place, pattern.problem = problem.place, problem.message
    text.at = end
    return pattern


def read_patterns(text: MlirText) -> List[Pattern]:
    """Reads the patterns of a module, in MLIR's pretty form. An error within a pattern becomes its problem. Raises
    Problem for a text that is no module of patterns."""
    patterns: List[Pattern] = []
    modules = 0
    while text.peek():
        place = text.place()
        if text.accept("module") or text.accept("builtin.module"):
            _symbol_name(text)
            if text.accept("attributes"):
                text.skip_braces()
            text.expect("{", "module")
            modules += 1
        elif modules and text.accept("}"):
            modules -= 1
        elif text.accept("pdl.pattern"):
            patterns.append(_read_pattern(text, place, len(patterns) + 1))
        else:
            text.fail(f"expected a module of patterns: 'module' or 'pdl.pattern', found {text.next_text()}")
    if modules:
        text.fail("expected '}' at the end of the module")
    return patterns
