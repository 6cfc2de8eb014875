#!/usr/bin/env python3
"""`equal` on names of sizes that mean something else in another graph: of the other model, of a subgraph, of a function."""

import json
import unittest

from binary import Case, rulemill

try:
    import numpy
    import onnx
    from onnx import TensorProto, helper
except ImportError:
    onnx = None

if onnx:
    node, function = helper.make_node, helper.make_function
    OPSETS = [helper.make_opsetid("", 18)]


def info(name, shape, kind=None):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT if kind is None else kind, shape)


def length(value, result):
    """Nodes that count the elements of a vector."""
    return [node("Shape", [value], [f"{result}_shape"]), node("Constant", [], [f"{result}_one"], value_floats=[1.0]),
            node("Expand", [f"{result}_one", f"{result}_shape"], [f"{result}_ones"]), node("ReduceSum", [f"{result}_ones"], [result], keepdims=0)]


def kept(value, result):
    """Nodes that copy a vector, of a size that no inference knows."""
    return [node("Equal", [value, value], [f"{result}_e"]), node("Not", [f"{result}_e"], [f"{result}_n"]),
            node("Or", [f"{result}_e", f"{result}_n"], [f"{result}_t"]), node("Compress", [value, f"{result}_t"], [result], axis=0)]


def total(values, result):
    return [*(node("ReduceSum", [value], [f"{result}_{value}"], keepdims=0) for value in values[1:]),
            node("Sum", [values[0], *(f"{result}_{value}" for value in values[1:])], [result])]


def branches(make):
    """A conditional with the graph that `make` returns, for names with a suffix, in both branches."""
    return node("If", ["c"], ["o"], **{f"{name}_branch": make(name[0]) for name in ("then", "else")})


@unittest.skipIf(onnx is None, "needs onnx")
class EqualScopes(Case):
    def verdict(self, *models):
        """The verdict on two models, each a graph's nodes, inputs and outputs, and functions; and the report."""
        paths = [self.folder / f"{number}.onnx" for number in range(2)]
        for path, (nodes, inputs, outputs, infos, functions) in zip(paths, models):
            graph = helper.make_graph(nodes, "g", inputs, outputs, value_info=infos)
            opsets = [*OPSETS, *(helper.make_opsetid(each.domain, 1) for each in functions)]
            onnx.save(helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=8), path)
        (self.folder / "report.json").unlink(missing_ok=True)
        process = rulemill("equal", *paths, "--json", self.folder / "report.json")
        if not (self.folder / "report.json").exists():
            return process.stderr, {}
        report = json.loads((self.folder / "report.json").read_text(encoding="utf-8"))
        return report["verdict"], report

    def test_a_question_mark_is_not_the_name_of_a_size(self):
        def model(size, unique):
            nodes = [node("Unique", ["x"], ["z"]), *length("z" if unique else "x", "count"), *total(["count", "x", "z"], "o")]
            return nodes, [info("x", [size])], [info("o", [])], [info("z", ["?"])], []
        self.assertIn("different inputs", self.verdict(model("n", False), model("?", True))[0])
        self.assertNotEqual(self.verdict(model("?", False), model("?", True))[0], "equal")
        self.assertEqual(self.verdict(model("?", True), model("?", True))[0], "equal")

    def test_sizes_that_a_branch_declares_are_those_of_its_model(self):
        def model(sizes, counted):
            def branch(suffix):
                return helper.make_graph([*kept(counted, f"z{suffix}"), *length(f"z{suffix}", f"k{suffix}"), *total([f"k{suffix}", "x", "y"], f"r{suffix}")],
                                         suffix, [], [info(f"r{suffix}", [])], value_info=[info(f"z{suffix}", ["a"])])
            return [branches(branch)], [info("c", [], TensorProto.BOOL), info("x", [sizes[0]]), info("y", [sizes[1]])], [info("o", [])], [], []
        self.assertEqual(self.verdict(model("ab", "x"), model("ba", "y"))[0], "different")
        self.assertEqual(self.verdict(model("ab", "x"), model("ba", "x"))[0], "equal")

    def test_sizes_without_names_of_two_loops_are_two_sizes(self):
        def loop(state, inner, counted):
            body = [node("Identity", ["ci"], ["co"]), node("Identity", [state], [f"{state}_o"]), *inner,
                    *(length(counted, f"{state}_k") if counted else []), *(total([f"{state}_k", "u", "v", "acc"], "acc_o") if counted else [])]
            names = ("it", "ci", state, "acc") if counted else ("oit", "ci", state, "oacc")
            return helper.make_graph(body, state, [info(names[0], [], TensorProto.INT64), info(names[1], [], TensorProto.BOOL), info(names[2], [None]), info(names[3], [])],
                                     [info("co", [], TensorProto.BOOL), info(f"{state}_o", [None]), info("acc_o" if counted else "oacc_o", [])])

        def model(counted):
            inner = node("Loop", ["m", "cond", "y", "oacc"], ["uf", "oacc_o"], body=loop("u", [], counted))
            outer = node("Loop", ["m", "cond", "x", "zero"], ["vf", "o"], body=loop("v", [inner], ""))
            inputs = [info("m", [], TensorProto.INT64), info("cond", [], TensorProto.BOOL), info("x", [None]), info("y", [None])]
            return [node("Constant", [], ["zero"], value_float=0.0), outer], inputs, [info("o", [])], [], []
        self.assertEqual(self.verdict(model("u"), model("u"))[0], "equal")
        self.assertNotEqual(self.verdict(model("u"), model("v"))[0], "equal")

    def test_values_of_a_body_are_not_inputs_of_the_inference_for_its_node(self):
        """ONNX infers the types of a node whose inputs have other names, i0 and so on, which a model may use, too."""
        def model(counted, name):
            body = [node("ReduceSum", [name], ["all"], keepdims=0), node("Add", ["a", "all"], ["sum"])]
            scan = node("Scan", ["x"], ["rows"], num_scan_inputs=1, body=helper.make_graph(body, "body", [info("a", None)], [info("sum", None)]))
            nodes = [scan, node("Shape", [counted], ["s"], start=1, end=2), node("ConstantOfShape", ["s"], ["z"]), node("Cos", ["z"], ["ones"]),
                     node("ReduceSum", ["ones"], ["o"], keepdims=0), node("Abs", ["rows"], ["p"])]
            return nodes, [info("x", ["t", "n"]), info(name, ["s", "m"])], [info("o", []), info("p", [None, None])], [], []
        for name in ("i0", "ii0", "y"):
            self.assertEqual(self.verdict(model("rows", name), model(name, name))[0], "different", name)
        self.assertEqual(self.verdict(model("rows", "i0"), model("rows", "i0"))[0], "equal")

    def test_sizes_that_a_function_names_are_its_own(self):
        def model(counted):
            def branch(suffix):
                copied = f"z{suffix}"
                return helper.make_graph([*kept("u", copied), *length(copied if counted == "z" else counted, f"k{suffix}"), *total([f"k{suffix}", "u", "w"], f"r{suffix}")],
                                         suffix, [], [info(f"r{suffix}", [])], value_info=[info(copied, ["n"])])
            call = function("local", "F", ["c", "u", "w"], ["o"], [branches(branch)], OPSETS)
            inputs = [info("c", [], TensorProto.BOOL), info("x", ["n"]), info("y", ["m"])]
            return [node("F", ["c", "y", "x"], ["o"], domain="local")], inputs, [info("o", [])], [], [call]
        self.assertEqual(self.verdict(model("z"), model("w"))[0], "different")
        self.assertEqual(self.verdict(model("w"), model("w"))[0], "equal")

    def test_branches_that_may_be_undefined_are_equal_wherever_they_are_defined(self):
        def model(parts):
            def branch(s):
                nodes = [node("Div", ["a", "x"], [f"p{s}"]), node("Div", ["b", "x"], [f"q{s}"]), node("Add", [f"p{s}", f"q{s}"], [f"r{s}"])] if parts else [
                    node("Add", ["a", "b"], [f"p{s}"]), node("Div", [f"p{s}", "x"], [f"r{s}"])]
                return helper.make_graph(nodes, s, [], [info(f"r{s}", [2])])
            return [branches(branch)], [info("c", [], TensorProto.BOOL), *(info(name, [2]) for name in "abx")], [info("o", [2])], [], []
        verdict, report = self.verdict(model(True), model(False))
        self.assertEqual((verdict, report["partial"]), ("equal", True))


if __name__ == "__main__":
    unittest.main()
