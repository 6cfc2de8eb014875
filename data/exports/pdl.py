#!/usr/bin/env python3
"""Applies the patterns of `rulemill rules export --format pdl` to an MLIR module on StableHLO:

    python3 pdl.py RULES.mlir MODULE.mlir > REWRITTEN.mlir

Needs MLIR's Python bindings with PDL and StableHLO, as in the wheel iree-base-compiler. PDL compares operations, operands and
constants. Three native functions do the rest:

    rulemill.fits(spec, values…)             the types, attributes and conditions of one of the alternatives `spec`
    rulemill.type(text, spec, values…)       a new type: "real: m, 2 * n", where `real` is the float type of the match
    rulemill.attribute(text, spec, values…)  a new attribute: MLIR's syntax with {expressions of sizes}, and $ for the float type

The values are those of the rule's variables and the matched operations. An alternative has the types of the variables, for each
operation the type of its result and its attributes, and the conditions on sizes. All dimensions are numbers."""

import ast
import functools
import operator
import sys

try:
    from iree.compiler import ir, rewrite
except ImportError as error:
    sys.exit(f"pdl.py: {error}; install iree-base-compiler")

# Attributes without effect on real numbers, and the values of others that are the default.
NEUTRAL = {
    "precision_config": lambda text: set(text.strip("[]").split(", ")) <= {"#stablehlo<precision DEFAULT>"},
    "result_accuracy": lambda text: "DEFAULT" in text,
    "window_reversal": lambda text: "true" not in text,
    "compare_type": lambda text: text == "#stablehlo<comparison_type FLOAT>",
}
OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
}
FUNCTIONS = {"div": operator.floordiv, "smaller": min, "larger": max}


parse = functools.cache(functools.partial(ast.parse, mode="eval"))


@functools.cache
def names_in(expression):
    return {node.id for node in ast.walk(parse(expression)) if isinstance(node, ast.Name)} - set(FUNCTIONS)


def evaluate(expression, sizes):
    """The value of an expression or a comparison of sizes."""
    def value(node):
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return sizes[node.id]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        if isinstance(node, ast.BinOp):
            return OPERATORS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.Compare):
            return OPERATORS[type(node.ops[0])](value(node.left), value(node.comparators[0]))
        return FUNCTIONS[node.func.id](*map(value, node.args))

    return value(parse(expression).body)


def solve(equations):
    """The sizes at which each expression has its number; None if there are none, or they do not follow one by one."""
    sizes, waiting = {}, list(equations)
    while waiting:
        left = []
        for expression, number in waiting:
            unknown = names_in(expression) - set(sizes)
            if len(unknown) > 1:
                left.append((expression, number))
                continue
            for name in unknown:  # linear in it, as the exporter has checked
                base = evaluate(expression, {**sizes, name: 0})
                factor = evaluate(expression, {**sizes, name: 1}) - base
                if factor == 0 or (number - base) % factor:
                    return None
                sizes[name] = (number - base) // factor
                if sizes[name] < 1:
                    return None
            if evaluate(expression, sizes) != number:
                return None
        if len(left) == len(waiting):
            return None
        waiting = left
    return sizes


def fill(text, sizes, element):
    """The text with each {expression} evaluated, and the element type for $."""
    parts = text.replace("$", str(element)).split("{")
    return parts[0] + "".join(str(evaluate(*part.split("}", 1)[:1], sizes)) + part.split("}", 1)[1] for part in parts[1:])


class Match:
    """An alternative that fits: its sizes and the float type."""

    def __init__(self, alternative, values):
        self.sizes, self.element, self.fits = {}, None, False
        count = len(alternative["variables"])
        operations = list(zip(alternative["operations"], values[count:]))
        types = [(text.value, value.type) for text, value in zip(alternative["variables"], values)]
        types += [(spec["result"].value, found.results[0].type) for spec, found in operations]
        equations = []
        for text, found in types:
            kind, _, shape = text.partition(":")
            expected = [each.strip() for each in split_list(shape)]
            if not self.has_kind(kind, found) or len(found.shape) != len(expected):
                return
            equations += zip(expected, found.shape)
        self.sizes = solve(equations)
        if self.sizes is None:
            return
        self.fits = all(self.has_attributes(spec, found) for spec, found in operations) and all(
            evaluate(condition.value, self.sizes) for condition in alternative["where"])

    def has_kind(self, kind, found):
        if not isinstance(found, ir.RankedTensorType) or not found.has_static_shape or found.encoding is not None:
            return False
        if kind == "bool":
            return str(found.element_type) == "i1"
        if self.element is None:
            self.element = found.element_type
        return isinstance(found.element_type, ir.FloatType) and found.element_type == self.element

    def has_attributes(self, spec, found):
        attributes = {each if isinstance(each, str) else each.name: None for each in found.attributes}
        attributes = {name: found.attributes[name] for name in attributes}
        for name in [each.value for each in spec["fixed"]]:
            attributes.pop(name, None)  # PDL has compared it
        for each in spec["attributes"]:
            if attributes.pop(each.name, None) != self.attribute(each.attr.value):
                return False
        for each in spec["optional"]:
            expected, absent = (self.attribute(text.value) for text in each.attr)
            if attributes.pop(each.name, absent) != expected:
                return False
        return all(name in NEUTRAL and NEUTRAL[name](str(value)) for name, value in attributes.items())

    def attribute(self, text):
        return ir.Attribute.parse(fill(text, self.sizes, self.element))

    def type(self, text):
        kind, _, shape = text.partition(":")
        element = self.element if kind == "real" else ir.IntegerType.get_signless(1)
        return ir.RankedTensorType.get([evaluate(each.strip(), self.sizes) for each in split_list(shape)], element)


def split_list(text):
    """The items between commas that are not in parentheses."""
    items, depth = [""], 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            items.append("")
        else:
            items[-1] += character
    return items if text.strip() else []


def match(spec, values):
    return next((found for found in (Match(each, values) for each in spec) if found.fits), None)


def pattern_set(rules):
    """The patterns of a module of rules, with their native functions."""
    patterns = rewrite.PDLModule(rules)
    patterns.register_constraint_function("rulemill.fits", lambda _, results, values: match(values[0], values[1:]) is None)
    for name in ("type", "attribute"):
        def make(_, results, values, name=name):
            results.append(getattr(match(values[1], values[2:]), name)(values[0].value))

        patterns.register_rewrite_function("rulemill." + name, make)
    return patterns.freeze()


def apply(rules, module):
    """Applies the rules to a module of the same context, everywhere and to their own results. Raises RuntimeError if that does
    not end after some rounds, as with both directions of a rule."""
    config = rewrite.GreedyRewriteConfig()
    config.enable_folding = False
    config.max_num_rewrites = 10000
    rewrite.apply_patterns_and_fold_greedily(module, pattern_set(rules), config)


def main(arguments):
    if len(arguments) != 2:
        print("usage: pdl.py RULES.mlir MODULE.mlir", file=sys.stderr)
        return 2
    with ir.Context(), ir.Location.unknown():
        modules = []
        for path in arguments:
            try:
                with open(path, encoding="utf-8") as file:
                    modules.append(ir.Module.parse(file.read()))
            except (OSError, UnicodeDecodeError, ir.MLIRError) as error:
                print(f"pdl.py: {path}: " + " ".join(str(error).split()), file=sys.stderr)
                return 3
        try:
            apply(*modules)
        except RuntimeError as error:
            print(f"pdl.py: {arguments[0]}: {error}; remove one of two rules that undo each other", file=sys.stderr)
            return 1
        print(modules[1])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
