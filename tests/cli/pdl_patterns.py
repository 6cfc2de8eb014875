"""Modules on which the patterns of `rulemill rules export --format pdl` must match: examples of their left-hand sides."""

import importlib.util
import random

from binary import ROOT
from iree.compiler import ir

spec = importlib.util.spec_from_file_location("pdl", ROOT / "data" / "exports" / "pdl.py")
pdl = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pdl)


def patterns(rules):
    """The patterns of a module by name."""
    return {ir.StringAttr(each.attributes["sym_name"]).value: each for each in rules.body.operations}


def only(pattern):
    """A module with only this pattern."""
    module = ir.Module.create()
    module.body.append(pattern.operation.clone())
    return module


def values_of(expression, sizes):
    return [pdl.evaluate(each.strip(), sizes) for each in pdl.split_list(expression.partition(":")[2])]


def random_sizes(alternative, random_numbers):
    """Sizes that an alternative of a pattern allows; None if none are found."""
    types = [each.value for each in alternative["variables"]] + [each["result"].value for each in alternative["operations"]]
    texts = [text for each in types for text in pdl.split_list(each.partition(":")[2])]
    conditions = [each.value for each in alternative["where"]]
    names = sorted(set().union(*(pdl.names_in(each.strip()) for each in texts + conditions)))
    for _ in range(500):
        sizes = {name: random_numbers.choice([1, 2, 3, 4, 6, 8]) for name in names}
        try:
            if all(value >= 1 for each in types for value in values_of(each, sizes)) and all(
                    pdl.evaluate(each, sizes) for each in conditions):
                return sizes
        except ZeroDivisionError:
            pass
    return None


class Example:
    """The module of a pattern's left-hand side at random sizes, on f64."""

    def __init__(self, pattern, alternative, sizes):
        self.sizes, self.lines, self.names, self.arguments, self.last = sizes, [], {}, [], None
        self.alternative, self.attributes = alternative, {}
        variables, operations = iter(alternative["variables"]), iter(alternative["operations"])
        for each in pattern.regions[0].blocks[0].operations:
            operation = each.operation
            if operation.name == "pdl.apply_native_constraint":
                break
            if operation.name == "pdl.attribute":
                self.attributes[operation.results[0]] = str(operation.attributes["value"]) if "value" in operation.attributes else None
            elif operation.name == "pdl.operand":
                name = f"%v{len(self.arguments)}"
                self.arguments.append((name, self.type(next(variables).value)))
                self.names[operation.results[0]] = self.arguments[-1]
            elif operation.name == "pdl.operation":
                self.add(operation, next(operations))
            elif operation.name == "pdl.result":
                self.names[operation.results[0]] = self.names[operation.operands[0]]

    def type(self, text):
        dims = "".join(f"{value}x" for value in values_of(text, self.sizes))
        return f"tensor<{dims}{'f64' if text.startswith('real') else 'i1'}>"

    def add(self, operation, specification):
        operand_count, attribute_count, _ = operation.attributes["operandSegmentSizes"]
        operands = [self.names[operation.operands[i]] for i in range(operand_count)]
        attributes = {}
        for i, name in enumerate(operation.attributes["attributeValueNames"]):
            attributes[name.value] = self.attributes[operation.operands[operand_count + i]]
        assert attribute_count == len(attributes)
        for each in specification["attributes"]:
            attributes[each.name] = pdl.fill(each.attr.value, self.sizes, "f64")
        for each in specification["optional"]:
            attributes[each.name] = pdl.fill(each.attr[0].value, self.sizes, "f64")
        result = (f"%n{len(self.lines)}", self.type(specification["result"].value))
        text = ", ".join(f"{name} = {value}" for name, value in attributes.items())
        self.lines.append(f'{result[0]} = {operation.attributes["opName"]}({", ".join(name for name, _ in operands)}) '
                          f'{{{text}}} : ({", ".join(type for _, type in operands)}) -> {result[1]}')
        self.names[operation.results[0]] = self.last = result

    def text(self):
        """The module's text."""
        arguments = ", ".join(f"{name}: {type}" for name, type in self.arguments)
        body = "".join(f"  {line}\n" for line in self.lines)
        return f"func.func @main({arguments}) -> {self.last[1]} {{\n{body}  return {self.last[0]} : {self.last[1]}\n}}\n"


def examples(pattern, seed=1):
    """An example for each alternative of the pattern that has sizes."""
    numbers = random.Random(seed)
    first = pattern.regions[0].blocks[0].operations[0].operation
    for alternative in first.attributes["value"]:
        sizes = random_sizes(alternative, numbers)
        if sizes is not None:
            yield Example(pattern, alternative, sizes)
