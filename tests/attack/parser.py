"""Reads definitions and rules, from what docs/definitions.md says of them and nothing else: the second reading that
rulemill's own is held against. Expressions are tuples (kind, operand...); what an expression means is in evaluate.py.
A text that is not understood raises SyntaxError with its line."""

import pathlib
import re
from dataclasses import dataclass, field

TOKEN = re.compile(r'[ \t\r]+|#[^\n]*|(?P<line>\n)|(?P<name>[A-Za-z_]\w*)|(?P<number>\d+(\.\d+)?([eE][-+]?\d+)?)'
                   r'|(?P<string>"[^"\n]*")|(?P<symbol>\.\.\.|//|=>|<=|>=|!=|[-+*/%()\[\]{}<>=,;:.?])')
CLAUSES = {"where", "let", "tensor", "commutative", "onnx", "is"}
PARAGRAPHS = {"operator", "function", "include"}
RELATIONS = {"=", "!=", "<", "<=", ">", ">="}


@dataclass
class Token:
    kind: str
    text: str
    line: int
    first: bool  # in its line


@dataclass
class Tensor:
    """name[index < bound, ...] = value; an item is ("index", name, bound) or ("pack", name, dims)."""
    name: str
    items: list
    value: tuple


@dataclass
class Operator:
    name: str
    inputs: list = field(default_factory=list)      # (name, dims); a dim is ("pack", name), ("name", name), ("num", n)
    spreads: dict = field(default_factory=dict)     # input: the parameter that says which of its pack's dimensions it has
    parameters: dict = field(default_factory=dict)  # name: (kind, default or values)
    where: list = field(default_factory=list)       # (condition, guards)
    lets: list = field(default_factory=list)        # (name, expression)
    tensors: list = field(default_factory=list)
    outputs: list = field(default_factory=list)
    composite: tuple = None


@dataclass
class Function:
    name: str
    arguments: list
    value: tuple
    laws: set = field(default_factory=set)


@dataclass
class Rule:
    name: str
    variables: list  # (name, dims or None, rank)
    source: list
    target: list
    conditions: list
    text: str = ""


def tokens_of(text):
    tokens, at, line, first = [], 0, 1, True
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            raise SyntaxError(f"line {line}: {text[at]!r}")
        at = match.end()
        if match.lastgroup == "line":
            line, first = line + 1, True
        elif match.lastgroup:
            kind = match.lastgroup
            tokens.append(Token(kind, match.group(), line, first))
            first = False
    tokens.append(Token("end", "", line, True))
    return tokens


class Cursor:
    def __init__(self, text):
        self.tokens = tokens_of(text)
        self.at = 0

    @property
    def now(self):
        return self.tokens[self.at]

    def ahead(self, count=1):
        return self.tokens[min(self.at + count, len(self.tokens) - 1)]

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def accept(self, text):
        if self.now.text != text or self.now.kind == "string":
            return False
        self.at += 1
        return True

    def expect(self, text):
        if not self.accept(text):
            self.fail(f"expected {text!r}")

    def name(self):
        if self.now.kind != "name":
            self.fail("expected a name")
        return self.take().text

    def fail(self, why):
        raise SyntaxError(f"line {self.now.line}: {why}, found {self.now.text!r}")

    def list_of(self, read, end):
        """Items between commas, up to `end`, which is taken."""
        items = []
        while not self.accept(end):
            items.append(read())
            if not self.accept(","):
                self.expect(end)
                break
        return items


class Expressions(Cursor):
    """Index expressions, scalar expressions, conditions; each method reads one level of precedence."""

    def index(self):
        value = self.index_sum()
        if self.now.text != "if":
            return value
        self.take()
        conditions = self.conditions()
        self.expect("else")
        return ("if", conditions, value, self.index())

    def index_sum(self):
        value = self.index_product()
        while self.now.text in ("+", "-"):
            value = (self.take().text, value, self.index_product())
        return value

    def index_product(self):
        value = self.index_unary()
        while self.now.text in ("*", "//", "/", "%"):
            value = (self.take().text, value, self.index_unary())
        return value

    def index_unary(self):
        return ("neg", self.index_unary()) if self.accept("-") else self.index_primary()

    def index_primary(self):
        if self.now.kind == "number":
            return ("num", int(self.take().text))
        if self.accept("?"):
            return ("fresh",)
        if self.accept("("):
            value = self.index()
            self.expect(")")
            return value
        name = self.name()
        if self.now.text == "..." or name in ("product", "offset"):
            self.fail("packs in expressions are not understood here")
        if self.now.text == "(":
            self.take()
            return ("call", name, self.list_of(self.index, ")"))
        if self.now.text == "[":
            self.take()
            axis = self.index()
            self.expect("]")
            return ("element", name, axis)
        return ("name", name)

    def condition(self):
        left = self.index_sum()
        relation = self.take().text
        if relation not in RELATIONS:
            self.at -= 1
            self.fail("expected a relation")
        return (relation, left, self.index_sum())

    def conditions(self):
        found = [self.condition()]
        while self.accept("and"):
            found.append(self.condition())
        return found

    def scalar(self):
        value = self.scalar_sum()
        if self.now.text != "if":
            return value
        self.take()
        conditions = self.conditions()
        self.expect("else")
        return ("if", conditions, value, self.scalar())

    def scalar_sum(self):
        value = self.product()
        while self.now.text in ("+", "-"):
            value = (self.take().text, value, self.product())
        return value

    def product(self):
        value = self.scalar_unary()
        while self.now.text in ("*", "/"):
            if self.take().text == "*":
                value = ("*", value, self.scalar_unary())
            else:
                value = ("/", value, self.index_unary())
        return value

    def scalar_unary(self):
        return ("neg", self.scalar_unary()) if self.accept("-") else self.scalar_primary()

    def scalar_primary(self):
        if self.now.kind == "number":
            return ("num", self.take().text)
        if self.accept("("):
            value = self.scalar()
            self.expect(")")
            return value
        name = self.name()
        if self.accept("["):
            return ("read", name, self.list_of(self.position, "]"))
        self.expect("(")
        if name in ("sum", "max") and self.ahead().text in ("<", "..."):
            return self.reduction(name)
        return ("apply", name, self.list_of(self.scalar, ")"))

    def reduction(self, kind):
        binders, conditions = [], []
        while not self.accept(")"):
            binders.append(self.bound_item())
            if self.accept("where"):
                conditions = self.conditions()
            if not self.accept(","):
                self.expect(")")
                break
        return (kind, binders, conditions, self.product())

    def bound_item(self):
        name = self.name()
        pack = self.accept("...")
        self.expect("<")
        return ("pack", name, self.pack_dims()) if pack else ("index", name, self.index())

    def pack_dims(self):
        """d..., d... with axis: size, d...[perm]"""
        name = self.name()
        self.expect("...")
        if self.accept("["):
            perm = self.name()
            self.expect("]")
            return ("permuted", name, perm)
        return self.changed(name)

    def changed(self, name):
        if not self.accept("with"):
            return ("whole", name)
        axis = self.index_sum()
        self.expect(":")
        return ("with", name, axis, self.index())

    def position(self):
        """What stands in a read: i..., i... with axis: index, i... at perm, or an index."""
        if self.now.kind == "name" and self.ahead().text == "...":
            name = self.name()
            self.expect("...")
            return ("placed", name, self.name()) if self.accept("at") else self.changed(name)
        return ("one", self.index())

    def real(self):
        """What a function computes over the reals."""
        value = self.real_product()
        while self.now.text in ("+", "-"):
            value = (self.take().text, value, self.real_product())
        return value

    def real_product(self):
        value = self.real_unary()
        while self.now.text in ("*", "/"):
            value = (self.take().text, value, self.real_unary())
        return value

    def real_unary(self):
        if self.accept("-"):
            return ("neg", self.real_unary())
        if self.now.kind == "number":
            return ("num", self.take().text)
        if self.accept("("):
            value = self.real()
            self.expect(")")
            return value
        name = self.name()
        return ("apply", name, self.list_of(self.real, ")")) if self.accept("(") else ("name", name)


class Definitions(Expressions):
    """Reads a definition text into `operators` and `functions`; `includes` are left to the caller. Operators with packs in
    expressions or lists of numbers are not understood here: they are left out, `unread` says which and why."""

    def __init__(self, text):
        super().__init__(text)
        self.operators, self.functions, self.includes, self.unread = {}, {}, [], {}
        while self.now.kind != "end":
            if self.accept("include"):
                self.includes.append(self.take().text.strip('"'))
            elif self.accept("function"):
                self.function()
            elif self.accept("operator"):
                self.operator_or_skip()
            else:
                self.fail("expected operator, function or include")

    def function(self):
        name = self.name()
        self.expect("(")
        arguments = self.list_of(self.name, ")")
        self.expect("=")
        function = self.functions[name] = Function(name, arguments, self.real())
        while self.now.first and self.now.text in ("law", "onnx"):
            if self.accept("onnx"):
                self.name()
                continue
            self.take()
            left = self.real()
            self.expect("=")
            right = self.real()
            function.laws.add(self.law(name, left, right))

    def law(self, name, left, right):
        if right[0] == "num":
            return "zero"
        if right[0] == "neg":
            return "odd"
        if left[0] == "apply" and left[2][0][0] == "neg":
            return "even"
        if right[0] in ("*", "/"):
            return "exponential" if left[2][0][0] == "+" else "scaling"
        if "max" in left[:2]:
            return "monotone"
        if left[2] and left[2][0] == right and right[0] == "apply":
            return "idempotent"
        if len(left[2]) == 2 and right == ("apply", name, left[2][::-1]):
            return "commutative"
        self.fail("expected one of the known laws")

    def operator_or_skip(self):
        name = self.now.text
        try:
            self.operator()
        except SyntaxError as error:
            self.operators.pop(name, None)
            self.unread[name] = str(error)
            while self.now.kind != "end" and not (self.now.first and self.now.text in PARAGRAPHS):
                self.take()

    def operator(self):
        op = Operator(self.name())
        self.operators[op.name] = op
        self.expect("(")
        while self.now.text not in (")", ";"):
            op.inputs.append(self.input(op.spreads))
            if not self.accept(","):
                break
        if self.accept(";"):
            while self.now.text != ")":
                self.parameter(op)
                if not self.accept(","):
                    break
        self.expect(")")
        while self.now.kind != "end" and not (self.now.first and self.now.text in PARAGRAPHS):
            self.clause(op)

    def input(self, spreads):
        name = self.name()
        self.expect("[")
        dims = self.list_of(lambda: self.dimension(name, spreads), "]")
        self.element_kind()
        return (name, dims)

    def element_kind(self):
        """of truths, of integers: they are computed with as numbers."""
        if self.accept("of"):
            self.name()

    def dimension(self, of, spreads):
        if self.now.kind == "number":
            return ("num", int(self.take().text))
        name = self.name()
        if not self.accept("..."):
            return ("name", name)
        if self.accept("by"):
            spreads[of] = self.name()
        return ("pack", name)

    def parameter(self, op):
        name = self.name()
        if self.now.text == "[":
            self.fail("lists of numbers are not understood here")
        if self.accept("in"):
            self.expect("{")
            values = [int(t.text) if t.kind == "number" else t.text for t in self.list_of(self.take, "}")]
            op.parameters[name] = ("choice", values)
        elif self.accept("<"):
            self.expect("rank")
            op.parameters[name] = ("axis", None)
        elif self.accept("..."):
            self.expect(":")
            self.expect("sizes")
            op.parameters[name] = ("sizes", None)
        else:
            self.expect(":")
            kind = self.name()
            if kind == "spread":
                op.parameters[name] = (kind, ())  # all dimensions whole
                return
            if kind in ("axes", "new"):
                self.fail("axes are not understood here")
            default = int(self.take().text) if self.accept("=") else None
            op.parameters[name] = (kind, default)

    def clause(self, op):
        if self.accept("where"):
            self.where(op)
            while self.accept(","):
                self.where(op)
        elif self.accept("let"):
            self.let(op)
            while self.accept(","):
                self.let(op)
        elif self.accept("commutative"):
            pass
        elif self.accept("onnx"):
            self.skip_mapping()
        elif self.accept("is"):
            op.composite = self.term()
        elif self.accept("tensor"):
            op.tensors.append(self.tensor())
        else:
            op.outputs.append(self.tensor())

    def where(self, op):
        if self.now.kind == "name" and self.ahead().text == "=" and self.ahead(3).text == "except":
            left = self.name()
            self.expect("=")
            right = self.name()
            self.expect("except")
            condition = ("packs", left, right, self.index_sum())
        else:
            condition = self.condition()
        op.where.append((condition, self.conditions() if self.accept("if") else []))

    def let(self, op):
        name = self.name()
        self.expect("=")
        op.lets.append((name, self.index()))

    def tensor(self):
        name = self.name()
        self.expect("[")
        items = self.list_of(self.bound_item, "]")
        self.element_kind()
        self.expect("=")
        return Tensor(name, items, self.scalar())

    def skip_mapping(self):
        depth = 0
        while self.now.kind != "end":
            if depth == 0 and self.now.first and (self.now.text in CLAUSES | PARAGRAPHS or self.ahead().text == "["):
                return
            depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(self.now.text, 0)
            self.take()

    def term(self):
        """input, or operator(term, ...; parameter=value, ...), with .output where there are several."""
        name = self.name()
        if not self.accept("("):
            return ("variable", name)
        arguments, parameters = [], {}
        while self.now.text not in (")", ";"):
            arguments.append(self.term())
            if not self.accept(","):
                break
        if self.accept(";"):
            while self.now.text != ")":
                key = self.name()
                self.expect("=")
                parameters[key] = self.argument_value()
                if not self.accept(","):
                    break
        self.expect(")")
        return ("node", name, arguments, parameters, self.name() if self.accept(".") else None)

    def argument_value(self):
        if self.accept("["):
            return ("list", self.list_of(self.index, "]"))
        return self.index()


class Rules(Definitions):
    """Reads rules: name, variables with shapes, `let`s, both sides, conditions."""

    def __init__(self, text):
        Cursor.__init__(self, text)
        self.rules = []
        lines = text.splitlines()
        while self.now.kind != "end":
            begin = self.now.line
            rule = self.rule()
            end = self.now.line - 1 if self.now.kind != "end" else len(lines)
            rule.text = "\n".join(lines[begin - 1:end])
            self.rules.append(rule)

    def rule(self):
        if not self.accept("rule"):
            self.expect("property")
        name = self.name()
        self.expect("(")
        variables = self.list_of(self.variable, ")")
        if self.now.text in ("core", "shortcut"):
            self.take()
        self.named = {}
        while self.accept("let"):
            key = self.name()
            self.expect("=")
            self.named[key] = self.term()
        source = self.side()
        if not self.accept("=>"):
            self.expect("=")
        target = self.side()
        conditions = []
        if self.accept("when"):
            conditions.append(self.condition())
            while self.accept(","):
                conditions.append(self.condition())
        return Rule(name, variables, source, target, conditions)

    def variable(self):
        name = self.name()
        if self.accept(":"):
            return (name, None, int(self.take().text))
        self.expect("[")
        dims = self.list_of(self.index, "]")
        return (name, dims, len(dims))

    def side(self):
        terms = [self.term()]
        while self.accept(","):
            terms.append(self.term())
        return terms

    def term(self):
        term = super().term()
        if term[0] == "variable" and term[1] in self.named:
            term = self.named[term[1]]
            if self.accept("."):
                term = term[:4] + (self.name(),)
        return term


def load_definitions(*places):
    """The operators and functions of folders and files, with what these include."""
    operators, functions, seen = {}, {}, set()

    def add(path):
        path = path.resolve()
        if path in seen:
            return
        seen.add(path)
        if path.is_dir():
            for file in sorted(path.glob("*.op")):
                add(file)
            return
        read = Definitions(path.read_text(encoding="utf-8"))
        for folder in read.includes:
            add(path.parent / folder)
        operators.update(read.operators)
        functions.update(read.functions)

    for place in places:
        add(pathlib.Path(place))
    return operators, functions
