"""A second, independent parser of definitions and rules, written from docs/definitions.md alone to test rulemill's own.
Expressions are tuples (kind, operand...); evaluate.py defines their meaning. Invalid text raises SyntaxError."""

import pathlib
import re
from dataclasses import dataclass, field

TOKEN = re.compile(r'[ \t\r]+|#[^\n]*|(?P<line>\n)|(?P<name>[A-Za-z_]\w*)|(?P<number>\d+(\.\d+)?([eE][-+]?\d+)?)'
                   r'|(?P<string>"[^"\n]*")|(?P<symbol>\.\.\.|//|=>|<=|>=|!=|[-+*/%()\[\]{}<>=,;:.?])')
CLAUSES = {"where", "let", "tensor", "commutative", "onnx", "aten", "is"}
PARAGRAPHS = {"operator", "function", "include"}
RELATIONS = {"=", "!=", "<", "<=", ">", ">="}


@dataclass
class Token:
    kind: str
    text: str
    line: int
    is_first: bool  # of its line


@dataclass
class Tensor:
    """name[index < bound, ...] = value; an item is ("index", name, bound) or ("pack", name, dims)."""
    name: str
    items: list
    value: tuple


@dataclass
class Operator:
    name: str
    inputs: list = field(default_factory=list)      # (name, dims); a dim: ("pack", name), ("name", name), ("num", n)
    spreads: dict = field(default_factory=dict)     # input: its broadcast parameter
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


def tokenize(text):
    tokens, at, line, is_first = [], 0, 1, True
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            raise SyntaxError(f"line {line}: {text[at]!r}")
        at = match.end()
        if match.lastgroup == "line":
            line, is_first = line + 1, True
        elif match.lastgroup:
            kind = match.lastgroup
            tokens.append(Token(kind, match.group(), line, is_first))
            is_first = False
    tokens.append(Token("end", "", line, True))
    return tokens


class TokenStream:
    def __init__(self, text):
        self.tokens = tokenize(text)
        self.at = 0

    @property
    def current(self):
        return self.tokens[self.at]

    def lookahead(self, count=1):
        return self.tokens[min(self.at + count, len(self.tokens) - 1)]

    def next(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def accept(self, text):
        if self.current.text != text or self.current.kind == "string":
            return False
        self.at += 1
        return True

    def expect(self, text):
        if not self.accept(text):
            self.fail(f"expected {text!r}")

    def name(self):
        if self.current.kind != "name":
            self.fail("expected a name")
        return self.next().text

    def fail(self, why):
        raise SyntaxError(f"line {self.current.line}: {why}, found {self.current.text!r}")

    def list_of(self, read, end):
        """Reads comma-separated items and then the token `end`."""
        items = []
        while not self.accept(end):
            items.append(read())
            if not self.accept(","):
                self.expect(end)
                break
        return items


class Expressions(TokenStream):
    """A recursive-descent parser of expressions and conditions, with a method for each level of precedence."""

    def index(self):
        value = self.index_sum()
        if self.current.text != "if":
            return value
        self.next()
        conditions = self.conditions()
        self.expect("else")
        return ("if", conditions, value, self.index())

    def index_sum(self):
        value = self.index_product()
        while self.current.text in ("+", "-"):
            value = (self.next().text, value, self.index_product())
        return value

    def index_product(self):
        value = self.index_unary()
        while self.current.text in ("*", "//", "/", "%"):
            value = (self.next().text, value, self.index_unary())
        return value

    def index_unary(self):
        return ("neg", self.index_unary()) if self.accept("-") else self.index_primary()

    def index_primary(self):
        if self.current.kind == "number":
            return ("num", int(self.next().text))
        if self.accept("?"):
            return ("fresh",)
        if self.accept("("):
            value = self.index()
            self.expect(")")
            return value
        name = self.name()
        if self.current.text == "..." or name in ("product", "offset"):
            self.fail("packs in expressions are not supported")
        if self.current.text == "(":
            self.next()
            return ("call", name, self.list_of(self.index, ")"))
        if self.current.text == "[":
            self.next()
            axis = self.index()
            self.expect("]")
            return ("element", name, axis)
        return ("name", name)

    def condition(self):
        left = self.index_sum()
        relation = self.next().text
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
        if self.current.text != "if":
            return value
        self.next()
        conditions = self.conditions()
        self.expect("else")
        return ("if", conditions, value, self.scalar())

    def scalar_sum(self):
        value = self.scalar_product()
        while self.current.text in ("+", "-"):
            value = (self.next().text, value, self.scalar_product())
        return value

    def scalar_product(self):
        value = self.scalar_unary()
        while self.current.text in ("*", "/"):
            if self.next().text == "*":
                value = ("*", value, self.scalar_unary())
            else:
                value = ("/", value, self.index_unary())
        return value

    def scalar_unary(self):
        return ("neg", self.scalar_unary()) if self.accept("-") else self.scalar_primary()

    def scalar_primary(self):
        if self.current.kind == "number":
            return ("num", self.next().text)
        if self.accept("("):
            value = self.scalar()
            self.expect(")")
            return value
        name = self.name()
        if self.accept("["):
            return ("read", name, self.list_of(self.position, "]"))
        self.expect("(")
        if name in ("sum", "max") and self.lookahead().text in ("<", "..."):
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
        return (kind, binders, conditions, self.scalar_product())

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
        return self.pack_item(name)

    def pack_item(self, name):
        if not self.accept("with"):
            return ("whole", name)
        axis = self.index_sum()
        self.expect(":")
        return ("with", name, axis, self.index())

    def position(self):
        """An index of a tensor: i..., i... with axis: index, i... at perm, or an index expression."""
        if self.current.kind == "name" and self.lookahead().text == "...":
            name = self.name()
            self.expect("...")
            return ("placed", name, self.name()) if self.accept("at") else self.pack_item(name)
        return ("one", self.index())

    def formula(self):
        """The formula of a scalar function."""
        value = self.formula_product()
        while self.current.text in ("+", "-"):
            value = (self.next().text, value, self.formula_product())
        return value

    def formula_product(self):
        value = self.formula_unary()
        while self.current.text in ("*", "/"):
            value = (self.next().text, value, self.formula_unary())
        return value

    def formula_unary(self):
        if self.accept("-"):
            return ("neg", self.formula_unary())
        if self.current.kind == "number":
            return ("num", self.next().text)
        if self.accept("("):
            value = self.formula()
            self.expect(")")
            return value
        name = self.name()
        return ("apply", name, self.list_of(self.formula, ")")) if self.accept("(") else ("name", name)


class Definitions(Expressions):
    """The operators, functions and includes of a definition text; the caller reads the includes. Operators with packs
    in expressions or with lists of numbers are not supported: `skipped` has their names with the reason."""

    def __init__(self, text):
        super().__init__(text)
        self.operators, self.functions, self.includes, self.skipped = {}, {}, [], {}
        while self.current.kind != "end":
            if self.accept("include"):
                self.includes.append(self.next().text.strip('"'))
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
        function = self.functions[name] = Function(name, arguments, self.formula())
        while self.current.is_first and self.current.text in ("law", "onnx"):
            if self.accept("onnx"):
                self.name()
                continue
            self.next()
            if self.lookahead().text == ":":  # an equation for proofs, which says nothing more about values
                while not self.current.is_first:
                    self.next()
                continue
            left = self.formula()
            self.expect("=")
            right = self.formula()
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
        name = self.current.text
        try:
            self.operator()
        except SyntaxError as error:
            self.operators.pop(name, None)
            self.skipped[name] = str(error)
            while self.current.kind != "end" and not (self.current.is_first and self.current.text in PARAGRAPHS):
                self.next()

    def operator(self):
        op = Operator(self.name())
        self.operators[op.name] = op
        self.expect("(")
        while self.current.text not in (")", ";"):
            op.inputs.append(self.input(op.spreads))
            if not self.accept(","):
                break
        if self.accept(";"):
            while self.current.text != ")":
                self.parameter(op)
                if not self.accept(","):
                    break
        self.expect(")")
        while self.current.kind != "end" and not (self.current.is_first and self.current.text in PARAGRAPHS):
            self.clause(op)

    def input(self, spreads):
        name = self.name()
        self.expect("[")
        dims = self.list_of(lambda: self.dimension(name, spreads), "]")
        self.skip_scalar_kind()
        return (name, dims)

    def skip_scalar_kind(self):
        """Skips `of bool` and the like: elements are numbers of any scalar kind."""
        if self.accept("of"):
            self.name()

    def dimension(self, of, spreads):
        if self.current.kind == "number":
            return ("num", int(self.next().text))
        name = self.name()
        if not self.accept("..."):
            return ("name", name)
        if self.accept("by"):
            spreads[of] = self.name()
        return ("pack", name)

    def parameter(self, op):
        name = self.name()
        if self.current.text == "[":
            self.fail("lists of numbers are not supported")
        if self.accept("in"):
            self.expect("{")
            values = [int(t.text) if t.kind == "number" else t.text for t in self.list_of(self.next, "}")]
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
                op.parameters[name] = (kind, ())  # no dimension is broadcast
                return
            if kind in ("axes", "new"):
                self.fail("axes are not supported")
            default = int(self.next().text) if self.accept("=") else None
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
        elif self.accept("onnx") or self.accept("aten"):
            self.skip_mapping()
        elif self.accept("is"):
            op.composite = self.term()
        elif self.accept("tensor"):
            op.tensors.append(self.tensor())
        else:
            op.outputs.append(self.tensor())

    def where(self, op):
        if self.current.kind == "name" and self.lookahead().text == "=" and self.lookahead(3).text == "except":
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
        self.skip_scalar_kind()
        self.expect("=")
        return Tensor(name, items, self.scalar())

    def skip_mapping(self):
        depth = 0
        while self.current.kind != "end":
            begins_clause = self.current.text in CLAUSES | PARAGRAPHS or self.lookahead().text == "["
            if depth == 0 and self.current.is_first and begins_clause:
                return
            depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(self.current.text, 0)
            self.next()

    def term(self):
        """An input, or operator(term, ...; parameter=value, ...), followed by .output if it has several."""
        name = self.name()
        if not self.accept("("):
            return ("variable", name)
        arguments, parameters = [], {}
        while self.current.text not in (")", ";"):
            arguments.append(self.term())
            if not self.accept(","):
                break
        if self.accept(";"):
            while self.current.text != ")":
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
    """The rules of a text."""

    def __init__(self, text):
        TokenStream.__init__(self, text)
        self.rules = []
        lines = text.splitlines()
        while self.current.kind != "end":
            begin = self.current.line
            rule = self.rule()
            end = self.current.line - 1 if self.current.kind != "end" else len(lines)
            rule.text = "\n".join(lines[begin - 1:end])
            self.rules.append(rule)

    def rule(self):
        if not self.accept("rule"):
            self.expect("property")
        name = self.name()
        self.expect("(")
        self.lets = {}
        variables = self.list_of(self.variable, ")")
        if self.current.text in ("core", "derived"):
            self.next()
        while self.accept("let"):
            key = self.name()
            self.expect("=")
            self.lets[key] = self.term()
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
            return (name, None, int(self.next().text))
        self.expect("[")
        dims = self.list_of(self.index, "]")
        if self.accept("of"):
            values = {"positive": "positive", "bool": "truth_of_number"}[self.name()]
            self.lets[name] = ("node", values, [("variable", name)], {}, None)
        return (name, dims, len(dims))

    def side(self):
        terms = [self.term()]
        while self.accept(","):
            terms.append(self.term())
        return terms

    def term(self):
        term = super().term()
        if term[0] == "variable" and term[1] in self.lets:
            term = self.lets[term[1]]
            if self.accept("."):
                term = term[:4] + (self.name(),)
        return term


def load_definitions(*places):
    """Returns the operators and functions of folders and files, including their includes, without composites of operators that are not read."""
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
        definitions = Definitions(path.read_text(encoding="utf-8"))
        for include in definitions.includes:
            add(path.parent / include)
        operators.update(definitions.operators)
        functions.update(definitions.functions)

    def is_known(term):
        return term[0] != "node" or term[1] in operators and all(map(is_known, term[2]))

    for place in places:
        add(pathlib.Path(place))
    while unknown := [name for name, each in operators.items() if each.composite and not is_known(each.composite)]:
        for name in unknown:
            del operators[name]
    return operators, functions
