"""A Python module of rewrite rules for onnxscript's rewriter. Nodes are read and written by the operators' ONNX
mappings, as the optimizer does."""

from __future__ import annotations

import pathlib
from typing import Any, Dict, Iterator, List, Set, Tuple

from .errors import NotExpressible
from .rules import Data, Report, Rule, identifier
from .sizes import Size, parse_size, python_name, python_text

# The opsets of the models that the module accepts.
_MIN_OPSET, _MAX_OPSET = 13, 25
_TENSOR_ATTRIBUTE = "an attribute is a tensor of the rule"


def _string(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _literal(value: Any, is_float: bool) -> str:
    if isinstance(value, str):
        return _string(value)
    return repr(float(value)) if is_float or value != int(value) else str(int(value))


def _sizes(value: Data) -> List[Size]:
    return [parse_size(each) for each in value.get("numbers", ())]


def _list(sizes: List[Size], prefix: str = "") -> str:
    return ", ".join(python_text(size, prefix) for size in sizes)


def _since(mapping: Data) -> List[str]:
    """The opsets of a mapping that are not those of the module."""
    since, until = mapping["since"], mapping["until"]
    return [f"since={since}"] * (since > _MIN_OPSET) + [f"until={until}"] * (until <= _MAX_OPSET)


def _mappings(node: Data) -> List[Data]:
    """The mapping of a node, then those that can be alternative forms of it."""
    usable = [each for each in node["onnx"]
              if not each["domain"] and each["since"] <= _MAX_OPSET and each["until"] > _MIN_OPSET]
    if not usable:
        raise NotExpressible(f"{node['operator']} has no ONNX form of one node in opsets {_MIN_OPSET} to {_MAX_OPSET}")

    def key(mapping: Data) -> Any:
        return mapping["op_type"], [(each.get("input"), "absent" in each) for each in mapping["inputs"]]

    return [each for each in usable if key(each) == key(usable[0])]


class _Class:
    """A rule as the parts of a Python class."""

    def __init__(self, rule: Rule) -> None:
        self.rule, self.opsets = rule, {"since": 1, "until": 1 << 20}
        self.values: Dict[int, str] = {}  # the Python name of a term
        for term, name in enumerate(map(python_name, rule.variables)):
            self.values[term] = name + "_" if name.startswith(("node", "new")) else name
        self.arguments = "".join(", " + self.values[term] for term in range(len(rule.variables)))

    def write(self) -> Tuple[str, Tuple[str, Set[str]]]:
        """The body; the shapes of the variables, and all names of sizes."""
        rule = self.rule
        nodes, pattern = self.pattern()
        target = self.target()
        arguments = dict.fromkeys(term for node in rule.nodes for term in node["arguments"] if rule.is_variable(term))
        types = ", ".join(f'"{self.values[term]}": "{"bool" if rule.kinds[term] == "bool" else "int"}"'
                          for term in arguments if rule.kinds[term] != "real")
        roots = sum(bool(set(node["terms"]) & set(rule.source.outputs)) for node in rule.source.nodes)
        conditions = ", ".join(f'("{sign}", {python_text(a)}, {python_text(b)})' for a, sign, b in rule.conditions)
        lines = [f"outputs = {roots}"] * (roots > 1) + [each.replace("=", " = ") for each in _since(self.opsets)]
        lines += [f"types = {{{types}}}"] * bool(types) + ["nodes = {\n" + nodes + "    }"]
        lines += [f"conditions = [{conditions}]"] * bool(conditions)
        variables = range(len(rule.variables))
        shapes = ", ".join(f'"{self.values[term]}": [{_list(rule.shapes[term])}]' for term in variables)
        body = "".join(f"    {line}\n" for line in lines) + f"\n{pattern}\n{target}"
        return body, ("{" + shapes + "}", rule.size_names)

    def name_outputs(self, node: Data, name: str) -> List[str]:
        names = [name if number == 1 else f"{name}_{number}" for number in range(1, len(node["terms"]) + 1)]
        self.values.update(zip(node["terms"], names))
        return names

    def pattern(self) -> Tuple[str, str]:
        """The forms of the nodes, and the function `pattern`."""
        nodes = calls = constants = ""
        for count, node in enumerate(self.rule.source.nodes, 1):
            mappings = _mappings(node)
            inputs = ""
            for i, each in enumerate(mappings[0]["inputs"]):
                constant = f"node{count}_in{i}" if "value" in each else ""
                constants += ", " + constant if constant else ""
                argument = "None" if "input" not in each else self.values[node["arguments"][each["input"]]]
                inputs += (constant or argument) + ", "
            names = self.name_outputs(node, f"node{count}")
            outputs = f"_outputs=[{', '.join(map(_string, names))}]"
            calls += f"        {', '.join(names)} = op.{mappings[0]['op_type']}({inputs}{outputs})\n"
            forms = [form for form in (self.form(each, node) for each in mappings) if form]
            if not forms:
                raise NotExpressible(_TENSOR_ATTRIBUTE)
            nodes += f'        "node{count}": [' + ",\n            ".join(forms) + "],\n"
        if any(map(self.rule.is_variable, self.rule.source.outputs)):
            raise NotExpressible("an output of its pattern is an input")
        roots = ", ".join(self.values[term] for term in self.rule.source.outputs)
        return nodes, f"    def pattern(self, op{self.arguments}{constants}):\n{calls}        return {roots}\n"

    def form(self, mapping: Data, node: Data) -> str:
        """The attributes and constant inputs that the node must have; empty if the module has no such form."""
        has_tensor = any(each["value"]["is_tensor"] for each in mapping["attributes"])
        if has_tensor or not (node["arguments"] or mapping["inputs"]):
            return ""
        attributes = ", ".join(f'"{each["name"]}": {"ANY" if each["ignored"] else self.value(each["value"], each)}'
                               for each in mapping["attributes"])
        inputs = ", ".join(f"{i}: {self.value(each['value'], {})}"
                           for i, each in enumerate(mapping["inputs"]) if "value" in each)
        return f"Form({', '.join(['{' + attributes + '}', *['{' + inputs + '}'] * bool(inputs), *_since(mapping)])})"

    @staticmethod
    def value(value: Data, attribute: Data) -> str:
        is_float, sizes = "float" in value, _sizes(value)
        text = f"[{_list(sizes)}]" if value["is_list"] else _list(sizes[:1])
        text = _string(value["string"]) if "string" in value else repr(value["float"]) if is_float else text
        text += f", default={_literal(attribute['default'], is_float)}" if "default" in attribute else ""
        text += ", optional=True" if attribute.get("optional") else ""
        given = [name for name in ("wrap", "clamp") if name in value]
        text += "".join(f", {name}={python_text(parse_size(value[name]))}" for name in given)
        return f"Value({text}{', reshape=True' if value['is_reshape_shape'] else ''})"

    def target(self) -> str:
        calls = ""
        for count, node in enumerate(self.rule.target.nodes, 1):
            call = self.call(node, _mappings(node)[0])
            calls += f"        {', '.join(self.name_outputs(node, f'new{count}'))} = {call}\n"
        roots: List[str] = []
        for term in self.rule.target.outputs:
            name = self.values[term]
            roots.append(f"op.Identity({name})" if self.rule.is_variable(term) or name in roots else name)
        return f"    def target(self, op{self.arguments}):\n{calls}        return {', '.join(roots)}\n"

    def call(self, node: Data, mapping: Data) -> str:
        self.opsets = {"since": max(self.opsets["since"], mapping["since"]),
                       "until": min(self.opsets["until"], mapping["until"])}
        parts = []
        for each in mapping["inputs"]:
            parts.append(self.constant(each["value"], node) if "value" in each else
                         "None" if "absent" in each else self.values[node["arguments"][each["input"]]])
        for attribute in mapping["attributes"]:
            if attribute["value"]["is_tensor"]:
                raise NotExpressible(_TENSOR_ATTRIBUTE)
            if not attribute["ignored"] and not attribute["optional"]:
                text = self.attribute(attribute["value"], attribute.get("default"))
                parts += [f"{attribute['name']}={text}"] if text else []
        parts += [f"_outputs={len(node['terms'])}"] * (len(node["terms"]) > 1)
        return f"op.{mapping['op_type']}({', '.join(parts)})"

    @staticmethod
    def attribute(value: Data, default: Any) -> str:
        """Nothing for the attribute's default."""
        for kind in ("string", "float"):
            if kind in value:
                return "" if value[kind] == default else _literal(value[kind], True)
        sizes = _sizes(value)
        if default is not None and "wrap" not in value and all(size.constant == default for size in sizes):
            return ""
        if all(size.constant is not None for size in sizes):
            return f"[{_list(sizes)}]" if value["is_list"] else _list(sizes[:1])
        return f"self.{'numbers' if value['is_list'] else 'number'}({_list(sizes, 'self.')})"

    def constant(self, value: Data, node: Data) -> str:
        if "float" in value:
            return f"self.real_input({value['float']!r})"
        sizes = _list(_sizes(value), "self.")
        if value["is_reshape_shape"]:
            return f"self.shape_input([{sizes}], [{_list(self.rule.shapes[node['arguments'][0]], 'self.')}])"
        function = "floats_input" if value["as_float32"] else "integers_input" if value["is_list"] else "integer_input"
        return f"self.{function}({sizes})"


def write(request: Data, messages: Iterator[Data]) -> Data:
    """A class for each rule; classes of one body, which differ in types only, are one."""
    report, classes, names = Report(), [], []  # type: Tuple[Report, List[str], List[str]]
    written = report.rules(messages, lambda form: [lambda: [_Class(form).write()]], "it has no form of ranks up to 5")
    for rule, by_body in written:
        for count, (body, variants) in enumerate(by_body.items(), 1):
            names.append(identifier(python_name(rule["rule"])) + (f"_form{count}" if count > 1 else ""))
            sizes = [python_name(each) for each in sorted(set().union(*(sizes for _, sizes in variants)))]
            text = f"    {', '.join(sizes)} = sizes(\"{' '.join(sizes)}\")\n" if sizes else ""
            text += "    variables = [" + ",\n                 ".join(shapes for shapes, _ in variants) + "]\n" + body
            head = f'\n\nclass {names[-1]}(Rule):\n    r"""{rule["text"]}    """\n    # {rule["proof"]}\n'
            classes.append(head + text)
    prelude = pathlib.Path(request["data"], "exports", "onnxscript.py").read_text(encoding="utf-8")
    names = [f"    {name},\n" for name in names]
    return report.result(request["title"], "# ", f"{prelude}{''.join(classes)}\n\nRULES = [\n{''.join(names)}]\n")
