#include "optimize/model/numbers.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "optimize/onnx/export.h"
#include "optimize/onnx/raised_opset.h"
#include "optimize/search/saturate.h"
#include "tests/optimize/models.h"

namespace rulemill::optimize {
namespace {

const char* const gelu_rules = R"(
rule cubes(x:2)
  mul(x, mul(x, x)) => cube(x)
rule argument(x:2)
  scale(add(x, scale(cube(x), gelu_cube_factor())), gelu_tanh_factor()) => gelu_tanh_argument(x)
rule sum(x:2)
  add_scalar(tanh(x), ones(; d=[])) => one_plus_tanh(x)
rule product(x:2)
  scale(mul(x, one_plus_tanh(gelu_tanh_argument(x))), half()) => gelu_tanh(x)
)";

void add_number(ModelText& text, const std::string& name, double value) {
  *text.graph().add_initializer() = make_tensor_proto(name, algebra::Tensor{{}, {value}}, text.data_type);
}

/// Gelu as exported models write it out. `half` is the last factor.
ModelText written_out_gelu(int opset, double half) {
  ModelText text(opset, DataType::Float32);
  text.input("x", {"2", "3"}).output("y", {"2", "3"});
  add_number(text, "a", 0.044714998453855515);
  add_number(text, "c", 0.7978845834732056);
  add_number(text, "i", 1);
  add_number(text, "h", half);
  text.node("Mul", {"x", "x"}, {"x2"}).node("Mul", {"x", "x2"}, {"x3"}).node("Mul", {"a", "x3"}, {"ax3"});
  text.node("Add", {"x", "ax3"}, {"u"}).node("Mul", {"c", "u"}, {"cu"}).node("Tanh", {"cu"}, {"t"});
  text.node("Add", {"i", "t"}, {"s"}).node("Mul", {"x", "s"}, {"xs"}).node("Mul", {"h", "xs"}, {"y"});
  return text;
}

/// Searches the model with the rules, and returns the result.
OnnxModel rewritten(const ModelText& text) {
  RulesFromText rules(gelu_rules, false);
  rules.library.restrict_domains({});  // for any runtime, as `optimize` without --runtime
  GraphBank bank(rules.library, rules.symbols);
  const OnnxModel model = text.parsed();
  const ImportedModel import = import_model(model, bank);
  Fusion fusion(bank);
  const CostModel cost(bank, fusion, find_device("t4"), {});
  Saturator saturator(bank, rules.terms, rules.rules, cost);
  const std::vector<ValueId> named = name_constants(bank, import.outputs, rules.terms, rules.rules).outputs;
  const Region region = RegionBuilder(bank, fusion, named).build_region(bank.live_nodes(named));
  std::vector<ValueId> leaves;
  for (const RegionLeaf& leaf : region.leaves) leaves.push_back(leaf.value);
  const auto outputs = *build_graph(saturator.solve(region).graph, region, leaves, bank);
  return export_model(model, import, bank, plan_export(model, import, bank, fusion, outputs), outputs);
}

std::vector<std::string> operators(const OnnxModel& model) {
  std::vector<std::string> names;
  for (const auto& node : model.proto().model.graph().node()) names.push_back(node.op_type());
  return names;
}

TEST_CASE("rules that name numbers turn a written out gelu into one operator of a newer opset", "[numbers]") {
  const OnnxModel result = rewritten(written_out_gelu(17, 0.5));
  CHECK(operators(result) == std::vector<std::string>{"Gelu"});
  CHECK(result.opset() == max_result_opset);
  CHECK(result.proto().model.ir_version() == 9);
}

TEST_CASE("other numbers are no match, and keep their initializers and the opset", "[numbers]") {
  const OnnxModel result = rewritten(written_out_gelu(17, 0.25));
  CHECK(operators(result).size() == 8);  // the cube alone
  CHECK(result.opset() == 17);
  std::vector<std::string> names;
  for (const auto& tensor : result.proto().model.graph().initializer()) names.push_back(tensor.name());
  for (const char* name : {"a", "c", "i", "h"}) CHECK(std::ranges::find(names, name) != names.end());
}

TEST_CASE("a constant that is an output or that an opaque node uses stays, because its name counts", "[numbers]") {
  ModelText text = written_out_gelu(17, 0.5);
  add_number(text, "output_half", 0.5);
  add_number(text, "opaque_half", 0.5);
  text.output("output_half", {}).output("z", {}).node("Unknown", {"opaque_half"}, {"z"}, {}, "custom");
  RulesFromText rules(gelu_rules, false);
  GraphBank bank(rules.library, rules.symbols);
  const ImportedModel import = import_model(text.parsed(), bank);
  const std::vector<ValueId> named = name_constants(bank, import.outputs, rules.terms, rules.rules).outputs;
  REQUIRE(named.size() == 3);
  CHECK(named[0] != import.outputs[0]);
  CHECK(named[1] == import.outputs[1]);
  CHECK(named[2] == import.outputs[2]);
}

}  // namespace
}  // namespace rulemill::optimize
