"""Prints what parser.py reads; enumerates and replaces subexpressions."""

SCALAR, INDEX, CONDITION = "scalar", "index", "condition"
PRECEDENCE = {"if": 0, "+": 1, "-": 1, "sum": 2, "max": 2, "*": 2, "/": 2, "//": 2, "%": 2, "neg": 3}


def text_of(value, level=0):
    """Returns an index or scalar expression, in parentheses if its precedence is below `level`."""
    kind = value[0]
    text = expression_text(kind, value)
    if kind in ("sum", "max") and level > 1:  # extends to the end of the expression
        return f"({text})"
    return f"({text})" if PRECEDENCE.get(kind, 9) < level else text


def expression_text(kind, value):
    if kind in ("num", "name"):
        return str(value[1])
    if kind == "fresh":
        return "?"
    if kind == "element":
        return f"{value[1]}[{text_of(value[2])}]"
    if kind == "if":
        return f"{text_of(value[2], 1)} if {conditions_text(value[1])} else {text_of(value[3], 1)}"
    if kind in ("call", "apply"):
        return f"{value[1]}({', '.join(text_of(v) for v in value[2])})"
    if kind == "read":
        return f"{value[1]}[{', '.join(position_text(p) for p in value[2])}]"
    if kind in ("sum", "max"):
        where = f" where {conditions_text(value[2])}" if value[2] else ""
        return f"{kind}({', '.join(bound_text(b) for b in value[1])}{where}) {text_of(value[3], 2)}"
    if kind == "neg":
        return f"-{text_of(value[1], 4)}"
    level = PRECEDENCE[kind]
    return f"{text_of(value[1], level)} {kind} {text_of(value[2], level + 1 + (kind == '/'))}"


def conditions_text(conditions, between=" and "):
    return between.join(f"{text_of(a, 1)} {relation} {text_of(b, 1)}" for relation, a, b in conditions)


def position_text(item):
    if item[0] == "one":
        return text_of(item[1])
    return f"{item[1]}... at {item[2]}" if item[0] == "placed" else dims_text(item)


def dims_text(item):
    if item[0] == "whole":
        return f"{item[1]}..."
    if item[0] == "permuted":
        return f"{item[1]}...[{item[2]}]"
    return f"{item[1]}... with {text_of(item[2])}: {text_of(item[3])}"


def bound_text(item):
    return f"{item[1]}... < {dims_text(item[2])}" if item[0] == "pack" else f"{item[1]} < {text_of(item[2])}"


def tensor_text(tensor):
    return f"{tensor.name}[{', '.join(bound_text(i) for i in tensor.items)}] = {text_of(tensor.value)}"


def operator_text(op):
    """Returns an operator without parameters as text."""
    inputs = ", ".join(f"{name}[{', '.join(str(d[1]) for d in dims)}]" for name, dims in op.inputs)
    lines = [f"operator {op.name}({inputs})"]
    lines += [f"  let {name} = {text_of(value)}" for name, value in op.lets]
    lines += [f"  where {conditions_text([condition])}" for condition, _ in op.where]
    lines += [f"  tensor {tensor_text(t)}" for t in op.tensors]
    return "\n".join(lines + [f"  {tensor_text(t)}" for t in op.outputs]) + "\n"


def term_text(term):
    if term[0] == "variable":
        return term[1]
    _, name, arguments, parameters, output = term
    text = ", ".join(term_text(a) for a in arguments)
    if parameters:
        text += "; " + ", ".join(f"{k}={parameter_text(v)}" for k, v in parameters.items())
    return f"{name}({text})" + (f".{output}" if output else "")


def parameter_text(value):
    return f"[{', '.join(text_of(v) for v in value[1])}]" if value[0] == "list" else text_of(value)


def rule_text(rule):
    variables = ", ".join(f"{name}[{', '.join(text_of(d) for d in dims)}]" if dims is not None else f"{name}:{rank}"
                          for name, dims, rank in rule.variables)
    sides = [", ".join(term_text(t) for t in side) for side in (rule.source, rule.target)]
    when = f"  when {conditions_text(rule.conditions, ', ')}\n" if rule.conditions else ""
    return f"rule {rule.name}({variables})\n  {sides[0]}\n    => {sides[1]}\n{when}"


def subexpressions(value, sort, path=()):
    """Yields (path, sort, subexpression) in pre-order."""
    yield path, sort, value
    kind = value[0]
    if sort == CONDITION:
        children = [((1,), INDEX), ((2,), INDEX)]
    elif kind == "if":
        children = [((1, k), CONDITION) for k in range(len(value[1]))] + [((2,), sort), ((3,), sort)]
    elif kind == "read":
        children = [((2, k, 1), INDEX) for k, item in enumerate(value[2]) if item[0] == "one"]
    elif kind in ("sum", "max"):
        children = [((1, k, 2), INDEX) for k, b in enumerate(value[1]) if b[0] == "index"]
        children += [((2, k), CONDITION) for k in range(len(value[2]))] + [((3,), SCALAR)]
    elif kind in ("apply", "call"):
        children = [((2, k), sort) for k in range(len(value[2]))]
    elif kind == "/" and sort == SCALAR:
        children = [((1,), SCALAR), ((2,), INDEX)]
    elif kind in ("num", "name", "element", "fresh"):
        children = []
    else:
        children = [((k,), sort) for k in range(1, len(value))]
    for steps, child_sort in children:
        child = value
        for step in steps:
            child = child[step]
        yield from subexpressions(child, child_sort, path + steps)


def replace_at(value, path, replacement):
    """Returns the value with the subexpression at the path replaced."""
    if not path:
        return replacement
    changed = list(value)
    changed[path[0]] = replace_at(value[path[0]], path[1:], replacement)
    return tuple(changed) if isinstance(value, tuple) else changed


def substitute(value, names):
    """Returns the expression with index expressions for names. Bound names must not occur in these expressions."""
    if isinstance(value, list):
        return [substitute(v, names) for v in value]
    if not isinstance(value, tuple):
        return value
    if value[0] == "name":
        return names.get(value[1], value)
    return tuple(substitute(v, names) if isinstance(v, (tuple, list)) else v for v in value)
