// Models with dynamic dimensions: the sizes that they compute, and the sizes at which they run.
#include <catch2/catch.hpp>
#include <limits>
#include <map>

#include "tests/optimize/models.h"

namespace rulemill::optimize {
namespace {

struct Imported {
  explicit Imported(const ModelText& text) : bank(rules.library, rules.symbols) {
    import = imported(text.parsed(), bank);
  }
  std::string shape(const std::string& name) {
    const ValueType& type = bank.value(import.values.at(name)).type;
    return type ? rules.symbols.to_string(*type) : "unknown";
  }
  bool is_recognized(std::size_t node) const { return !import.nodes[node].lowered.is_opaque(); }

  RulesFromText rules;
  GraphBank bank;
  ImportedModel import;
};

void add_constants(ModelText& text, const std::string& name, const std::vector<std::int64_t>& values) {
  auto* tensor = text.graph().add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(onnx::TensorProto::INT64);
  tensor->add_dims(static_cast<std::int64_t>(values.size()));
  for (const std::int64_t value : values) tensor->add_int64_data(value);
}

TEST_CASE("the lower bound of a dynamic dimension is exactly what windows require", "[open_sizes]") {
  ModelText text;
  text.input("x", {"n", "3", "h", "w"}).weight("k", {8, 3, 4, 4}).output("z", {"n", "8", "?", "?"});
  text.node("Conv", {"x", "k"}, {"y"}, {"strides=4,4"});
  text.node("MaxPool", {"y"}, {"z"}, {"kernel_shape=2,2", "strides=2,2"});
  Imported model(text);
  CHECK(model.is_recognized(0));
  CHECK(model.is_recognized(1));
  CHECK(model.import.bounds.lower == std::map<std::string, std::int64_t>{{"h", 8}, {"w", 8}});  // two windows of four
  CHECK(model.shape("x") == "[$n, 3, $h-7 + 7, $w-7 + 7]");
  REQUIRE(model.import.dynamic_dims.size() >= 3);
  CHECK(model.import.dynamic_dims[0].offset == 0);
  CHECK(model.import.dynamic_dims[1].offset == 7);
}

TEST_CASE("dimensions without windows keep bound 1, and unresolvable nodes give no bound", "[open_sizes]") {
  ModelText text;
  text.input("x", {"n", "3", "h", "w"}).weight("k", {8, 3, 3, 3}).weight("q", {8, 5, 3, 3});
  text.output("y", {"n", "8", "?", "?"}).output("z", {"n", "8", "?", "?"});
  text.node("Conv", {"x", "k"}, {"y"}, {"strides=2,2", "pads=1,1,1,1"});
  text.node("Conv", {"x", "q"}, {"z"}, {"strides=2,2", "pads=0,0,0,0"});
  Imported model(text);
  CHECK(model.is_recognized(0));
  CHECK_FALSE(model.is_recognized(1));  // three channels do not match five
  CHECK(model.import.bounds == SizeBounds());
}

TEST_CASE("sizes that are only to be equal have no lower bound", "[open_sizes]") {
  ModelText text;
  text.input("x", {"n", "3"}).input("y", {"m", "4"}).output("z", {"?", "7"});
  text.node("Concat", {"x", "y"}, {"z"}, {"axis=1"});
  CHECK(Imported(text).import.bounds == SizeBounds());
}

TEST_CASE("two sizes that are not known are two sizes", "[open_sizes]") {
  ModelText text;
  text.input("x", {"n", "n", "3"}).output("y", {"n", "n", "3"});
  auto& dims = *text.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (const int axis : {0, 1}) dims.mutable_dim(axis)->set_dim_param("?");
  text.node("Relu", {"x"}, {"y"});
  CHECK(Imported(text).shape("x") == "[$x#0, $x#1, 3]");
}

TEST_CASE("a given shape determines a dynamic dimension, also with a lower bound", "[open_sizes]") {
  ScratchFolder scratch;
  ModelText text;
  text.input("x", {"n", "3", "h", "h"}).weight("k", {8, 3, 4, 4}).output("y", {"n", "8", "?", "?"});
  text.node("Conv", {"x", "k"}, {"y"}, {"strides=4,4"});
  Options options;
  options.model = text.save(scratch / "in.onnx");
  options.input_shapes["x"] = {2, 3, 12, 12};
  const Summary summary = RulesFromText().optimize(options);
  REQUIRE(summary.sizes.size() >= 2);
  CHECK(summary.sizes[0].value == 2);
  CHECK(summary.sizes[1].name == "h");
  CHECK(summary.sizes[1].value == 12);
  options.input_shapes["x"] = {2, 3, 3, 3};
  CHECK_THROWS_AS(RulesFromText().optimize(options), runtime::UsageError);
}

TEST_CASE("sizes are tracked through slices, expansions and gathers of integers", "[open_sizes]") {
  ModelText text;
  text.input("x", {"n", "s"}).weight("rows", {16, 4}).output("y", {"?", "?", "?"});
  add_constants(text, "ids", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  add_constants(text, "zero", {0});
  add_constants(text, "one", {1});
  add_constants(text, "lowest", {std::numeric_limits<std::int64_t>::min()});
  text.node("Shape", {"x"}, {"shape"});
  text.node("Slice", {"shape", "one", "shape_end"}, {"length"});
  add_constants(text, "shape_end", {2});
  text.node("Slice", {"ids", "zero", "length", "zero"}, {"some"});
  text.node("Expand", {"some", "shape"}, {"all"});
  text.node("Gather", {"rows", "all"}, {"y"});
  text.node("Slice", {"shape", "lowest", "one"}, {"batch"});
  text.node("ConstantOfShape", {"batch"}, {"ones"});
  Imported model(text);
  CHECK(model.shape("y") == "[$n, $s, 4]");
  CHECK(model.shape("ones") == "[$n]");
}

TEST_CASE("a dimension is bounded by a table's size where a clamped and an unclamped size must match", "[open_sizes]") {
  ModelText text;
  text.input("x", {"n", "s", "4"}).weight("table", {1, 16, 4}).output("y", {"n", "s", "4"});
  add_constants(text, "zero", {0});
  add_constants(text, "one", {1});
  add_constants(text, "two", {2});
  text.node("Shape", {"x"}, {"shape"}).node("Slice", {"shape", "one", "two"}, {"length"});
  text.node("Slice", {"table", "zero", "length", "one"}, {"places"}).node("Add", {"x", "places"}, {"y"});
  Imported model(text);
  CHECK(model.import.bounds.upper == std::map<std::string, std::int64_t>{{"s", 16}});
  CHECK(model.shape("places") == "[1, $s, 4]");
  CHECK(model.is_recognized(3));
}

}  // namespace
}  // namespace rulemill::optimize
