// What optimization must preserve, and what it must reject.
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

/// x·W + (x·A)·B between operators without definitions.
ModelText adapter_model() {
  ModelText text;
  text.input("x", {"rows", "32"}).output("y", {"rows", "32"});
  text.weight("W", {32, 32}).weight("A", {32, 8}).weight("B", {8, 32});
  text.node("EyeLike", {"x"}, {"first"});
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

TEST_CASE("opaque operators, names, opsets, metadata and dimension names are preserved", "[model]") {
  ScratchFolder scratch;
  ModelText text = adapter_model();
  auto path = text.save(scratch / "in.onnx");
  Summary summary = RulesFromText(product_rules).optimize(options_for(path, scratch / "out.onnx"));
  REQUIRE(summary.changed);
  CHECK(summary.opaque.size() == 3);
  OnnxModel out = OnnxModel::read(scratch / "out.onnx");
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
  auto metadata = after.metadata_props();
  while (metadata.size() > 0 && metadata.rbegin()->key().starts_with("rulemill.")) metadata.RemoveLast();
  CHECK(metadata.size() + 3 == after.metadata_props_size());
  same(metadata, text.model.metadata_props());
  CHECK(after.doc_string() == "a model's story");
  CHECK(after.producer_name() == "a producer");
  CHECK(after.ir_version() == text.model.ir_version());
}

TEST_CASE("a model that no rule improves is written unchanged", "[model]") {
  ScratchFolder scratch;
  ModelText text = adapter_model();
  auto path = text.save(scratch / "in.onnx");
  Summary summary = RulesFromText().optimize(options_for(path, scratch / "out.onnx"));
  CHECK_FALSE(summary.changed);
  CHECK(OnnxModel::read(scratch / "out.onnx").serialize() == OnnxModel::read(path).serialize());
}

TEST_CASE("export of an imported model restores every node", "[model]") {
  for (const char* name : {"acnet_block.onnx", "lora_layer.onnx"}) {
    RulesFromText rules;
    GraphBank bank(rules.library, rules.symbols);
    OnnxModel model = OnnxModel::read(std::filesystem::path(RULEMILL_SOURCE_DIR) / "data/models" / name);
    ImportedModel import = imported(model, bank);
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
    ImportedModel back = imported(out, bank);
    CHECK(back.outputs == import.outputs);  // the same terms
  }
}

TEST_CASE("verification rejects a wrong rule, and the model is written unchanged", "[model]") {
  ScratchFolder scratch;
  auto path = adapter_model().save(scratch / "in.onnx");
  // The wrong rule needs both products on x, which association provides.
  RulesFromText wrong(std::string(product_rules) +
                      "rule drops_a_branch(x:2, a:2, b:2) add(matmul(x, a), b) => matmul(x, a)");
  Summary summary = wrong.optimize(options_for(path, scratch / "out.onnx"));
  CHECK_THAT(summary.warning, Catch::Contains("computes something else"));
  CHECK(runtime::read_file(scratch / "out.onnx") == runtime::read_file(path));
}

/// y = root(x)·W + (x·A)·B: NaN wherever a row of x has a negative element, unless the root is applied to another
/// value.
ModelText rooted_model(const std::vector<std::string>& before_root) {
  ModelText text;
  text.input("x", {"4", "32"}).output("y", {"4", "32"}).weight("W", {32, 32}).weight("A", {32, 8}).weight("B", {8, 32});
  std::string last = "x";
  for (const std::string& op_type : before_root) {
    text.node(op_type, {last}, {op_type + "ed"});
    last = op_type + "ed";
  }
  text.node("Sqrt", {last}, {"root"}).node("MatMul", {"root", "W"}, {"base"}).node("MatMul", {"root", "A"}, {"down"});
  text.node("MatMul", {"down", "B"}, {"up"}).node("Add", {"base", "up"}, {"y"});
  return text;
}

const char* drops_a_branch = "rule drops_a_branch(x:2, a:2, b:2) add(matmul(x, a), b) => matmul(x, a)";

TEST_CASE("positive inputs are drawn, so that a root does not hide a difference", "[model]") {
  ScratchFolder scratch;
  auto path = rooted_model({}).save(scratch / "in.onnx");
  Summary summary = RulesFromText(drops_a_branch).optimize(options_for(path, scratch / "out.onnx"));
  CHECK_FALSE(summary.changed);
  CHECK_THAT(summary.warning, Catch::Contains("computes something else"));
}

TEST_CASE("outputs that are always NaN do not verify a result", "[model]") {
  ScratchFolder scratch;
  auto path = rooted_model({"Exp", "Neg"}).save(scratch / "in.onnx");
  Summary summary = RulesFromText(product_rules).optimize(options_for(path, scratch / "out.onnx"));
  CHECK_FALSE(summary.changed);
  CHECK_THAT(summary.warning, Catch::Contains("could not be verified") && Catch::Contains("mostly NaN"));
}

TEST_CASE("outputs that are zero for small inputs are compared for larger ones", "[model]") {
  ScratchFolder scratch;
  ModelText text;
  text.input("x", {"4", "32"}).output("y", {"4", "32"}).weight("W", {32, 32}).weight("A", {32, 8}).weight("B", {8, 32});
  *text.graph().add_initializer() = make_tensor_proto("shift", {{4, 32}, std::vector<double>(4 * 32, -150.f)});
  text.node("MatMul", {"x", "W"}, {"base"}).node("MatMul", {"x", "A"}, {"down"}).node("MatMul", {"down", "B"}, {"up"});
  text.node("Add", {"base", "up"}, {"sum"}).node("Add", {"sum", "shift"}, {"moved"}).node("Relu", {"moved"}, {"y"});
  Summary summary =
      RulesFromText(product_rules).optimize(options_for(text.save(scratch / "in.onnx"), scratch / "out.onnx"));
  CHECK(summary.warning.empty());
  CHECK(summary.changed);
}

TEST_CASE("folding that would overflow finite weights is rejected", "[model]") {
  ScratchFolder scratch;
  ModelText text;
  text.input("x", {"4", "4"}).output("y", {"4", "4"});
  for (const char* name : {"v", "w"}) {
    *text.graph().add_initializer() = make_tensor_proto(name, {{4, 4}, std::vector<double>(16, 1e25F)});
  }
  text.node("Mul", {"x", "v"}, {"a"}).node("Mul", {"a", "w"}, {"y"});
  auto path = text.save(scratch / "in.onnx");
  RulesFromText rules("rule associate(x:2, a:2, b:2) mul(mul(x, a), b) => mul(x, mul(a, b))");
  Summary summary = rules.optimize(options_for(path, scratch / "out.onnx"));
  CHECK_FALSE(summary.changed);
  CHECK_THAT(summary.warning, Catch::Contains("finite weights"));
}

TEST_CASE("every truncation of a model is an input error or a valid model", "[model]") {
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

TEST_CASE("foreign files, missing files and undefined values are input errors with a reason", "[model]") {
  ScratchFolder scratch;
  CHECK_THROWS_WITH(OnnxModel::parse("%PDF-1.4 no model at all", "foreign"), Catch::Contains("not an ONNX model"));
  CHECK_THROWS_AS(OnnxModel::read(scratch / "absent.onnx"), runtime::InputError);
  ModelText dangling = adapter_model();
  dangling.graph().mutable_node(1)->set_input(0, "nowhere");
  CHECK_THROWS_WITH(dangling.parsed(), Catch::Contains("node 1 (MatMul") && Catch::Contains("nowhere"));
}

TEST_CASE("malformed models are rejected with their place", "[model]") {
  auto refused = [](const std::function<void(ModelText&)>& corrupt, const std::string& what) {
    ModelText text = adapter_model();
    corrupt(text);
    CHECK_THROWS_WITH(text.parsed(), Catch::StartsWith("tiny.onnx: ") && Catch::Contains(what));
  };
  refused([](ModelText& t) { t.graph().clear_output(); }, "no outputs");
  refused([](ModelText& t) { t.graph().mutable_node(2)->set_output(0, "base"); }, "output base is defined twice");
  refused([](ModelText& t) { t.graph().mutable_node(0)->set_input(0, "sum"); }, "cycle");
  refused([](ModelText& t) { *t.graph().add_initializer() = t.graph().initializer(0); }, "W is defined twice");
  refused([](ModelText& t) { t.graph().mutable_initializer(0)->mutable_raw_data()->resize(5); }, "expected 4096 bytes");
  refused([](ModelText& t) { t.graph().mutable_initializer(0)->set_dims(0, -4); }, "dimension -4");
  refused([](ModelText& t) { t.graph().mutable_initializer(0)->set_dims(0, std::int64_t{1} << 62); }, "too large");
  refused(
      [](ModelText& t) {
        auto* shape = t.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
        shape->mutable_dim(1)->set_dim_value(-2);
      },
      "input x: dimension -2");
  refused([](ModelText& t) { t.graph().mutable_output(0)->set_name("other"); }, "output other is not computed");
}

TEST_CASE("an output with a contradictory declaration is rejected", "[model]") {
  RulesFromText rules;
  GraphBank bank(rules.library, rules.symbols);
  auto declared = [&](const std::function<void(onnx::TypeProto::Tensor&)>& change) {
    ModelText text;
    text.input("x", {"4", "4"}).output("y", {"4", "4"}).node("Relu", {"x"}, {"y"});
    change(*text.graph().mutable_output(0)->mutable_type()->mutable_tensor_type());
    return imported(text.parsed(), bank);
  };
  CHECK_NOTHROW(declared([](auto&) {}));
  CHECK_THROWS_WITH(declared([](auto& type) { type.set_elem_type(onnx::TensorProto::INT64); }),
                    Catch::Contains("y is a tensor of FLOAT"));
  CHECK_THROWS_WITH(declared([](auto& type) { type.mutable_shape()->mutable_dim(0)->set_dim_value(5); }),
                    Catch::Contains("output y has shape [4, 4]"));
}

TEST_CASE("newer IR versions, opsets and operators are preserved, and the rest is optimized", "[model]") {
  ScratchFolder scratch;
  ModelText text = adapter_model();
  text.model.set_ir_version(99);
  text.model.mutable_opset_import(0)->set_version(28);
  text.graph().mutable_node(0)->set_op_type("NotYetInvented");
  // Without a schema, the declared type of the value is used.
  auto* info = text.graph().add_value_info();
  *info = text.graph().input(0);
  info->set_name("first");
  text.model.GetReflection()->MutableUnknownFields(&text.model)->AddVarint(4000, 7);
  auto path = text.save(scratch / "in.onnx");
  Summary summary = RulesFromText(product_rules).optimize(options_for(path, scratch / "out.onnx"));
  CHECK(summary.changed);
  onnx::ModelProto after = OnnxModel::read(scratch / "out.onnx").proto().model;
  CHECK(after.ir_version() == 99);
  CHECK(after.opset_import(0).version() == 28);
  CHECK(after.graph().node(0).SerializeAsString() == text.graph().node(0).SerializeAsString());
  CHECK(after.GetReflection()->GetUnknownFields(after).field_count() == 1);
}

TEST_CASE("weights are not copied until they are needed", "[model]") {
  ScratchFolder scratch;
  ModelText text;
  text.input("x", {"4", "64"}).output("y", {"4", "64"}).weight("w", {64, 64}).node("MatMul", {"x", "w"}, {"y"});
  auto path = text.save(scratch / "in.onnx");
  OnnxModel model = OnnxModel::read(path);
  CHECK(model.proto().model.ByteSizeLong() < 1000);
  CHECK(model.weight_bytes() == 64 * 64 * 4);
  onnx::ModelProto back;
  REQUIRE(back.ParseFromString(model.serialize()));
  CHECK(back.graph().initializer(0).raw_data() == text.graph().initializer(0).raw_data());
  model.write_as_read(scratch / "copy.onnx");
  CHECK(runtime::read_file(scratch / "copy.onnx") == runtime::read_file(path));
}

TEST_CASE("a result never overwrites an external file of its model", "[model]") {
  ScratchFolder scratch;
  adapter_model().parsed().write(scratch / "in.onnx", 1000);
  std::filesystem::rename(scratch / "in.onnx", scratch / "model.onnx");
  OnnxModel model = OnnxModel::read(scratch / "model.onnx");
  CHECK_THROWS_WITH(model.write(scratch / "in.onnx"), Catch::Contains("model's own weights"));
  model.write(scratch / "out.onnx");
  CHECK(std::filesystem::exists(scratch / "out.onnx.data"));
}

TEST_CASE("initializers above the limit are written to an external file and read back", "[model]") {
  ScratchFolder scratch;
  OnnxModel model = adapter_model().parsed();
  model.write(scratch / "big.onnx", 1000);
  CHECK(std::filesystem::exists(scratch / "big.onnx.data"));
  CHECK(std::filesystem::file_size(scratch / "big.onnx") < 2000);
  CHECK(OnnxModel::read(scratch / "big.onnx").serialize() == model.serialize());
  std::filesystem::resize_file(scratch / "big.onnx.data", 100);
  CHECK_THROWS_WITH(OnnxModel::read(scratch / "big.onnx"), Catch::Contains("external data"));
}

TEST_CASE("names that a subgraph captures are preserved", "[model]") {
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
  auto path = text.save(scratch / "in.onnx");
  Summary summary = RulesFromText(product_rules).optimize(options_for(path, scratch / "out.onnx"));
  CHECK(summary.changed);
  CHECK(find_node(OnnxModel::read(scratch / "out.onnx").proto().model.graph(), "choice"));
}

}  // namespace
}  // namespace rulemill::optimize
