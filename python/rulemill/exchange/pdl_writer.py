"""An MLIR module of patterns in the PDL dialect on StableHLO, each with a native constraint, which data/exports/pdl.py
implements: PDL cannot compare sizes."""

from __future__ import annotations

from typing import Dict, Iterator, List, Set, Tuple

from .errors import NotExpressible, Problem
from .rules import Data, Report, Rule, Side, identifier
from .sizes import Size, python_text
from .stablehlo import COMMUTATIVE, WHOLE, Form, Names, Table, names_of

# The greatest number of commutative operations of a pattern whose operands are exported in both orders.
_MAX_SWAPPED = 3
_SIGNS = {"=": "==", "!=": "!=", "<": "<", "<=": "<="}
_NO_KIND = {"int": "it has integers, of which StableHLO has several types",
            "positive": "it has tensors of positive numbers"}


def _string(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', "\\22") + '"'


def _type(kind: str, shape: List[Size]) -> str:
    if kind in _NO_KIND:
        raise NotExpressible(_NO_KIND[kind])
    return ", ".join([f"{kind}: {python_text(shape[0])}", *map(python_text, shape[1:])]) if shape else f"{kind}:"


def _is_constant(text: str) -> bool:
    """Whether the text is the same for all sizes, which it has in braces, and for all types of the rule's numbers,
    which are `$`."""
    return "{" not in text and "$" not in text


class _Text:
    """The text of a pattern: the matched operations first, then the new ones."""

    def __init__(self) -> None:
        self.lines = self.root = ""
        self.in_rewrite = False
        self.variables: List[str] = []
        self.specifications: List[str] = []         # of the matched operations
        self.arguments: List[Tuple[str, str]] = []  # of native functions: values, and their PDL types
        self.types: Dict[str, str] = {}             # the value of a type
        self.matched: List[str] = []                # operations and types
        self.created: List[str] = []
        self.attribute_count = 0

    def line(self, text: str) -> None:
        self.lines += ("      " if self.in_rewrite else "    ") + text + "\n"

    def native(self, *first: str) -> str:
        values = [*((name, "!pdl.attribute") for name in [*first, "%spec"]), *self.arguments]
        return f"({', '.join(name for name, _ in values)} : {', '.join(kind for _, kind in values)})"

    def add(self, name: str, kind: str, text: str) -> str:
        """A type or an attribute that a match leaves to the native constraint, and a native function computes."""
        if self.in_rewrite:
            self.line(f"{name}_text = pdl.attribute = {_string(text)}")
            self.line(f'{name} = pdl.apply_native_rewrite "rulemill.{kind}"{self.native(name + "_text")} : !pdl.{kind}')
        else:
            self.line(f"{name} = pdl.{kind}")
        return name

    def type(self, text: str) -> str:
        if text not in self.types:
            self.types[text] = f"%t{len(self.types) + 1}"
            self.add(self.types[text], "type", text)
        return self.types[text]

    def attribute(self, text: str) -> str:
        self.attribute_count += 1
        name = f"%a{self.attribute_count}"
        if not _is_constant(text):
            return self.add(name, "attribute", text)
        self.line(f"{name} = pdl.attribute = {text}")
        return name

    def variable(self, name: str, kind: str) -> str:
        self.line(f"%v_{name} = pdl.operand : {self.type(kind)}")
        self.variables.append(_string(kind))
        self.arguments.append((f"%v_{name}", "!pdl.value"))
        return f"%v_{name}"

    def operation(self, operation: str, operands: List[str], attributes: Dict[str, str], optional: Dict[str, List[str]],
                  result: str) -> str:
        made = self.created if self.in_rewrite else self.matched
        made.append(f"{operation} {result}")
        name = f"%n{len(self.matched) + len(self.created)}"
        written = dict(attributes)
        if self.in_rewrite:
            written.update((key, text) for key, (text, absent) in optional.items() if text != absent)
        values = ", ".join(f'"{key}" = {self.attribute(text)}' for key, text in written.items())
        inputs = f"({', '.join(operands)} : {', '.join(['!pdl.value'] * len(operands))})" if operands else ""
        kind = self.type(result)
        values = f" {{{values}}}" if values else ""
        self.line(f'{name} = pdl.operation "stablehlo.{operation}"{inputs}{values} -> ({kind} : !pdl.type)')
        self.line(f"{name}_result = pdl.result 0 of {name}")
        if not self.in_rewrite:
            self.root = name
            self.arguments.append((name, "!pdl.operation"))
            fixed = ", ".join(_string(key) for key, text in attributes.items() if _is_constant(text))
            checked = ", ".join(f"{key} = {_string(text)}"
                                for key, text in attributes.items() if not _is_constant(text))
            others = ", ".join(f"{key} = [{_string(text)}, {_string(absent)}]"
                               for key, (text, absent) in optional.items())
            parts = f"fixed = [{fixed}], attributes = {{{checked}}}, optional = {{{others}}}"
            self.specifications.append(f"{{result = {_string(result)}, {parts}}}")
        return name + "_result"


class _Pattern:
    """A rule at fixed ranks as a pattern, with the operands of some nodes swapped."""

    def __init__(self, rule: Rule, swapped: List[Data], table: Table) -> None:
        self.rule, self.swapped, self.table, self.text = rule, swapped, table, _Text()
        self.values: Dict[int, str] = {}
        self.dimensions: List[Size] = []  # of the values of the match

    def write(self, keep_balanced: bool) -> Tuple[str, str]:
        """The body and its specification. Rejects a pattern with the same operations on both sides unless
        `keep_balanced`: with its operands in either order, it would apply to its own results."""
        rule, text = self.rule, self.text
        if len(rule.source.outputs) != 1:
            raise NotExpressible("it has several outputs")
        if rule.is_variable(rule.source.outputs[0]):
            raise NotExpressible("its pattern is a single variable")
        for term, name in enumerate(rule.variables):
            self.values[term] = text.variable(name, _type(rule.kinds[term], rule.shapes[term]))
            self.require(rule.shapes[term])
        self.write_side(rule.source)
        self.require_sizes()
        text.line('pdl.apply_native_constraint "rulemill.fits"' + text.native())
        text.line(f"pdl.rewrite {text.root} {{")
        text.in_rewrite = True
        # The root is replaced, so its value must not be an operand of the new operations.
        self.values.pop(rule.source.outputs[0])
        self.write_side(rule.target)
        if not keep_balanced and sorted(text.matched) == sorted(text.created):
            raise NotExpressible("both sides have the same StableHLO operations (--all exports it)")
        text.line(f"pdl.replace {text.root} with ({self.values[rule.target.outputs[0]]} : !pdl.value)")
        conditions = [_string(f"{python_text(a)} {_SIGNS[sign]} {python_text(b)}")
                      for a, sign, b in [*rule.conditions, *rule.facts]]
        return text.lines + "    }\n", "{{variables = [{}], operations = [{}], where = [{}]}}".format(
            *map(", ".join, (text.variables, text.specifications, conditions)))

    def write_side(self, side: Side) -> None:
        """Writes the outputs that the roots and the nodes below them use, and are not written yet."""
        used = set(side.outputs).union(*(node["arguments"] for node in side.nodes))
        for node in side.nodes:
            for output, term in enumerate(node["terms"]):
                if term in used and term not in self.values:
                    self.values[term] = self.write_output(node, output, term)

    def write_output(self, node: Data, output: int, term: int) -> str:
        form, shape = self.table.form_of(node, output), self.rule.shapes[term]
        if form.operation == "constant":
            return self.constant(form.inputs[0], shape, form)
        names = names_of(node, shape)
        uses = form.inputs or [each["name"] for each in node["inputs"]]
        operands = [self.operand(each, form, node, shape, names) for each in uses]
        if not self.text.in_rewrite and node in self.swapped:
            operands.reverse()
        attributes = {name: form.fill(text, names) for name, text in form.attributes.items()}
        optional = {name: [form.fill(text, names) for text in texts] for name, texts in form.optional.items()}
        self.require(shape)
        return self.text.operation(form.operation, operands, attributes, optional, _type(self.rule.kinds[term], shape))

    def operand(self, use: str, form: Form, node: Data, result: List[Size], names: Names) -> str:
        """The value of an input, broadcast if the form has it broadcast; a number becomes a constant."""
        head, _, literal = use.rpartition(" ")
        if literal.replace(".", "").lstrip("-").isdigit():
            return self.constant(literal, [] if head == "scalar" else result, form)
        inputs = [each["name"] for each in node["inputs"]]
        if use not in inputs:
            raise Problem(form.place, f"'{use}' is no input of {form.operator}")
        term, expression = node["arguments"][inputs.index(use)], form.broadcast.get(use)
        if expression is None:
            return self.values[term]
        dimensions = form.evaluate(expression, names)
        spread = names[expression[len("kept("):-1]] if expression.startswith("kept(") else None
        is_whole = isinstance(spread, list) and all(each == WHOLE for each in spread)
        if len(dimensions) == len(result) and (is_whole or self.rule.shapes[term] == result):
            return self.values[term]
        attributes = {"broadcast_dimensions": form.fill("array<i64: {dimensions}>", {"dimensions": dimensions})}
        kind = _type(self.rule.kinds[term], result)
        return self.text.operation("broadcast_in_dim", [self.values[term]], attributes, {}, kind)

    def constant(self, literal: str, shape: List[Size], form: Form) -> str:
        dimensions = "".join(form.fill("{size}x", {"size": size}) for size in shape)
        self.require(shape)
        value = f"dense<{literal}> : tensor<{dimensions}$>"
        return self.text.operation("constant", [], {"value": value}, {}, _type("real", shape))

    def require(self, shape: List[Size]) -> None:
        self.dimensions += [] if self.text.in_rewrite else shape

    def require_sizes(self) -> None:
        """Raises NotExpressible unless the match's dimensions determine all sizes, one linear equation at a time."""
        known: Set[str] = set()
        count = -1
        while count < len(known):
            count = len(known)
            for dimension in self.dimensions:
                unknown = sorted(dimension.names() - known)
                if len(unknown) == 1 and dimension.linear_in(unknown[0]):
                    known.add(unknown[0])
        if not self.rule.size_names <= known:
            raise NotExpressible("its sizes do not follow from the shapes one by one")


def _patterns(rule: Rule, table: Table, keep_balanced: bool) -> Iterator[Tuple[str, str]]:
    """The pattern with the operands of commutative operations in either order."""
    commutative = [node for node in rule.source.nodes if table.form_of(node, 0).operation in COMMUTATIVE][:_MAX_SWAPPED]
    for choice in range(1 << len(commutative)):
        swapped = [node for i, node in enumerate(commutative) if choice >> i & 1]
        yield _Pattern(rule, swapped, table).write(keep_balanced)


def write(request: Data, messages: Iterator[Data]) -> Data:
    """Each rule at its ranks and small parameters. Forms that differ in types only are one pattern."""
    report, text, table = Report(), [], Table(request["data"], request["operators"])
    for rule, by_body in report.rules(messages, lambda form: [lambda: _patterns(form, table, request["all"])],
                                      "it has no form of ranks up to 5 and small parameters"):
        text.append("\n" + "".join(f"  // {line}\n" for line in (rule["text"] + rule["proof"]).split("\n")))
        for count, (body, specifications) in enumerate(by_body.items(), 1):
            name = identifier(rule["rule"]) + (f"_form{count}" if count > 1 else "")
            unique = ",\n      ".join(dict.fromkeys(specifications))
            text.append(f"  pdl.pattern @{name} : benefit(1) {{\n    %spec = pdl.attribute = [{unique}]\n{body}  }}\n")
    prelude = "// data/exports/pdl.py applies this file and has its native functions (docs/export.md).\n\n"
    return report.result(request["title"], "// ", f"{prelude}module @rules {{{''.join(text)}}}\n")
