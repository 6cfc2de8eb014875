// What must survive an optimization, and what must not get through.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "optimize/onnx/export.h"
#include "tests/optimize/models.h"

namespace rulemill::optimize {
namespace {

const char* product_rules = R"(
rule associate(x:2, a:2, b:2)
  matmul(matmul(x, a), b) => matmul(x, matmul(a, b))
rule distribute(x:2, a:2, b:2)
  add(matmul(x, a), matmul(x, b)) => matmul(x, add(a, b))
)";

Options options_for(const std::filesystem::path& model, const std::filesystem::path& out) {
  Options options;
  options.model = model;
  options.out = out;
  return options;
}

/// x·W + (x·A)·B between operators that nobody defined.
ModelText adapter_model() {
  ModelText text;
  text.input("x", {"rows", "32"}).output("y", {"rows", "32"});
  text.weight("W", {32, 32}).weight("A", {32, 8}).weight("B", {8, 32});
  text.node("Softplus", {"x"}, {"first"});
  text.node("MatMul", {"first", "W"}, {"base"}).node("MatMul", {"first", "A"}, {"down"});
  text.node("MatMul", {"down", "B"}, {"up"}).node("Add", {"base", "up"}, {"sum"});
  text.node("Secret", {"sum"}, {"hidden"}, {"strength=3"}, "com.example");
  text.node("LeakyRelu", {"hidden"}, {"y"});
  auto* domain = text.model.add_opset_import();
  domain->set_domain("com.example");
  domain->set_version(2);
  auto* property = text.model.add_metadata_props();
  property->set_key("owner");
  property->set_value("someone");
  text.model.set_doc_string("a model's story");
  text.model.set_producer_name("a producer");
  text.graph().mutable_node(0)->set_doc_string("a node's story");
  return text;
}

const onnx::NodeProto* find_node(const onnx::GraphProto& graph, const std::string& name) {
  for (const auto& node : graph.node()) {
    if (node.name() == name) return &node;
  }
  return nullptr;
}

TEST_CASE("unknown operators, names, opsets, metadata and dimension names survive", "[model]") {
  ScratchFolder scratch;
  ModelText text = adapter_model();
  auto path = text.save(scratch.path / "in.onnx");
  Summary summary = RulesFromText(product_rules).optimize(options_for(path, scratch.path / "out.onnx"));
  REQUIRE(summary.changed);
  CHECK(summary.unknown.size() == 3);
  OnnxModel out = OnnxModel::read(scratch.path / "out.onnx");
  const onnx::ModelProto& after = out.proto().model;
  CHECK(after.graph().node_size() == 4);
  for (int i : {0, 5, 6}) {
    const onnx::NodeProto& before = text.graph().node(i);
    const onnx::NodeProto* kept = find_node(after.graph(), before.name());
    REQUIRE(kept);
    CHECK(kept->SerializeAsString() == before.SerializeAsString());
  }
  auto same = [](const auto& a, const auto& b) {
    REQUIRE(a.size() == b.size());
    for (int i = 0; i < a.size(); ++i) CHECK(a[i].SerializeAsString() == b[i].SerializeAsString());
  };
  same(after.graph().input(), text.graph().input());
  same(after.graph().output(), text.graph().output());
  same(after.opset_import(), text.model.opset_import());
  same(after.metadata_props(), text.model.metadata_props());
  CHECK(after.doc_string() == "a model's story");
  CHECK(after.producer_name() == "a producer");
  CHECK(after.ir_version() == text.model.ir_version());
}

TEST_CASE("a model that no rule improves is written as it is", "[model]") {
  ScratchFolder scratch;
  ModelText text = adapter_model();
  auto path = text.save(scratch.path / "in.onnx");
  Summary summary = RulesFromText().optimize(options_for(path, scratch.path / "out.onnx"));
  CHECK_FALSE(summary.changed);
  CHECK(OnnxModel::read(scratch.path / "out.onnx").serialize() == OnnxModel::read(path).serialize());
}

TEST_CASE("export gives back what import took, node for node", "[model]") {
  for (const char* name : {"acnet_block.onnx", "lora_layer.onnx"}) {
    RulesFromText rules;
    GraphBank bank(rules.library, rules.symbols);
    OnnxModel model = OnnxModel::read(std::filesystem::path(RULEMILL_SOURCE_DIR) / "data/models" / name);
    Import import = import_model(model, bank);
    Fusion fusion(bank);
    ExportPlan plan = plan_export(import, bank, fusion, import.outputs, model.opset());
    OnnxModel out = export_model(model, import, bank, std::move(plan), import.outputs);
    std::multiset<std::string> before, after;
    for (const auto& node : model.proto().model.graph().node()) before.insert(node.ShortDebugString());
    for (const auto& node : out.proto().model.graph().node()) after.insert(node.ShortDebugString());
    std::vector<std::string> missing;
    std::set_difference(before.begin(), before.end(), after.begin(), after.end(), std::back_inserter(missing));
    CHECK(missing == std::vector<std::string>{});
    CHECK(after.size() == before.size());
    Import back = import_model(out, bank);
    CHECK(back.outputs == import.outputs);  // the same terms
  }
}

TEST_CASE("a wrong rule is caught by verification and nothing is written", "[model]") {
  ScratchFolder scratch;
  auto path = adapter_model().save(scratch.path / "in.onnx");
  // The wrong rule needs both products on x: association makes them so.
  RulesFromText wrong(std::string(product_rules) +
                      "rule drops_a_branch(x:2, a:2, b:2) add(matmul(x, a), b) => matmul(x, a)");
  CHECK_THROWS_WITH(wrong.optimize(options_for(path, scratch.path / "out.onnx")),
                    Catch::Contains("computes something else") && Catch::Contains("not written"));
  CHECK_FALSE(std::filesystem::exists(scratch.path / "out.onnx"));
}

TEST_CASE("every truncation of a model is one input error or a model", "[model]") {
  ModelText text = adapter_model();
  std::string bytes = text.model.SerializeAsString();
  std::size_t refused = 0;
  for (std::size_t length = 0; length < bytes.size(); length += 1 + bytes.size() / 400) {
    try {
      OnnxModel::parse(std::string_view(bytes).substr(0, length), "cut.onnx");
    } catch (const runtime::InputError& error) {
      CHECK_THAT(error.what(), Catch::StartsWith("cut.onnx"));
      ++refused;
    }
  }
  CHECK(refused > 350);
}

TEST_CASE("foreign files, newer versions and missing files are input errors with a reason", "[model]") {
  ScratchFolder scratch;
  CHECK_THROWS_WITH(OnnxModel::parse("%PDF-1.4 no model at all", "foreign"), Catch::Contains("not an ONNX model"));
  CHECK_THROWS_AS(OnnxModel::read(scratch.path / "absent.onnx"), runtime::InputError);
  ModelText newer = adapter_model();
  newer.model.set_ir_version(99);
  CHECK_THROWS_WITH(newer.parsed(), Catch::Contains("IR version 99"));
  ModelText opset = adapter_model();
  opset.model.mutable_opset_import(0)->set_version(999);
  CHECK_THROWS_WITH(opset.parsed(), Catch::Contains("opset 999"));
  ModelText dangling = adapter_model();
  dangling.graph().mutable_node(1)->set_input(0, "nowhere");
  CHECK_THROWS_WITH(dangling.parsed(), Catch::Contains("checker"));
}

TEST_CASE("initializers above the limit go into a file beside the model and come back", "[model]") {
  ScratchFolder scratch;
  OnnxModel model = adapter_model().parsed();
  model.write(scratch.path / "big.onnx", 1000);
  CHECK(std::filesystem::exists(scratch.path / "big.onnx.data"));
  CHECK(std::filesystem::file_size(scratch.path / "big.onnx") < 2000);
  CHECK(OnnxModel::read(scratch.path / "big.onnx").serialize() == model.serialize());
  std::filesystem::resize_file(scratch.path / "big.onnx.data", 100);
  CHECK_THROWS_WITH(OnnxModel::read(scratch.path / "big.onnx"), Catch::Contains("external data"));
}

TEST_CASE("a subgraph keeps the names that it takes from outside", "[model]") {
  ModelText text = adapter_model();
  // "sum" is used by name inside both branches of an If.
  auto& node = *text.graph().add_node();
  node.set_op_type("If");
  node.set_name("choice");
  node.add_input("flag");
  node.add_output("z");
  for (const char* branch : {"then_branch", "else_branch"}) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(branch);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    attribute.mutable_g()->set_name(branch);
    auto& inner = *attribute.mutable_g()->add_node();
    inner.set_op_type("Neg");
    inner.add_input("sum");
    inner.add_output(std::string(branch) + "_out");
    auto& output = *attribute.mutable_g()->add_output();
    output.set_name(std::string(branch) + "_out");
    output.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  }
  auto& flag = *text.graph().add_input();
  flag.set_name("flag");
  flag.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::BOOL);
  flag.mutable_type()->mutable_tensor_type()->mutable_shape();
  text.output("z", {"rows", "32"});
  ScratchFolder scratch;
  auto path = text.save(scratch.path / "in.onnx");
  Summary summary = RulesFromText(product_rules).optimize(options_for(path, scratch.path / "out.onnx"));
  CHECK(summary.changed);
  CHECK(find_node(OnnxModel::read(scratch.path / "out.onnx").proto().model.graph(), "choice"));
}

}  // namespace
}  // namespace rulemill::optimize
