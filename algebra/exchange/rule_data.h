// Operators and rules as data, for programs in other languages (python/rulemill/exchange). Sizes are texts of
// polynomials (Symbols::to_string).
#pragma once

#include <string>
#include <vector>

#include "algebra/terms/typing.h"
#include "runtime/text/json.h"

namespace rulemill::algebra {

/// {"inputs": ["x"], "outputs": ["y"], "sizes": ["at", "shape..."], "has_explicit_rank", "parameters": [{"name",
/// "kind", "default", "values": those of a finite domain that does not depend on ranks}]}.
runtime::Json signature_data(const std::string& operator_name, const Library& library);

/// Whether a mapping is to one node that has all sizes.
bool is_to_one_node(const OnnxMapping& mapping);

/// The parts of a rule's data that only some programs need.
struct RuleDataParts {
  bool onnx = false;     // the ONNX mappings of nodes
  bool general = false;  // operators over any sizes
  bool bodies = false;   // the definitions of nodes
};

/// {"name", "variables": [names], "terms": [{"kind", "shape"}], "nodes": […], "source": {"nodes": [numbers, arguments
/// before users], "outputs": [terms]}, "target", "conditions": [[left, sign, right]], "facts"}. A term is a number:
/// that of a variable, or of a node's output. A node is {"operator", "commutative", "parameters": [{"name", "kind",
/// "value"}], "sizes": [those of the call], "slots": {name: size}, "inputs": [{"name", "kind", "shape"}], "outputs",
/// "conditions": [[left, sign, right, whether it is shown]], "onnx": [its mappings to one node], the terms "arguments"
/// and "terms" (its outputs), "general": the same over the sizes s0, s1, … of any such node, "tensors":
/// intermediates and outputs {"name", "kind", "shape", "body"}}. A body is a ScalarExpr; its indices are _0, _1, ….
runtime::Json rule_data(const TypedRule& typed, RuleDataParts parts, TermBank& bank, Symbols& symbols);

/// Applies an operator's type rule to inputs x0, x1, … of these shapes. `call` is a term such as "split(x0; axis=1)";
/// `explicit_rank` is the length of its list of sizes, if it has one. Returns {"outputs": [{"name", "rank"}]}, or
/// {"problem", "fits": whether the operator takes these ranks}.
runtime::Json describe_call(const std::string& call, const std::vector<Shape>& shapes, std::uint32_t explicit_rank,
                            Library& library, TermBank& bank, Symbols& symbols);

/// Returns the data of an operator with these parameters for inputs of these ranks, over the sizes s0, s1, …: as
/// "general" of rule_data. null if they do not fit.
runtime::Json describe_instance(const std::string& operator_name, const runtime::Json& parameters,
                                const std::vector<std::uint32_t>& ranks, Library& library, Symbols& symbols);

}  // namespace rulemill::algebra
