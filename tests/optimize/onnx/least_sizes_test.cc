// Models that leave sizes open: what is known of the sizes that they compute, and at which they run at all.
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
  bool understood(std::size_t node) const { return !import.nodes[node].recipe.opaque(); }

  RulesFromText rules;
  GraphBank bank;
  Import import;
};

void integers(ModelText& text, const std::string& name, const std::vector<std::int64_t>& values) {
  auto* made = text.graph().add_initializer();
  made->set_name(name);
  made->set_data_type(onnx::TensorProto::INT64);
  made->add_dims(static_cast<std::int64_t>(values.size()));
  for (const std::int64_t value : values) made->add_int64_data(value);
}

TEST_CASE("an open size is at least as large as windows ask for, exactly", "[open_sizes]") {
  ModelText text;
  text.input("x", {"n", "3", "h", "w"}).weight("k", {8, 3, 4, 4}).output("z", {"n", "8", "?", "?"});
  text.node("Conv", {"x", "k"}, {"y"}, {"strides=4,4"});
  text.node("MaxPool", {"y"}, {"z"}, {"kernel_shape=2,2", "strides=2,2"});
  Imported model(text);
  CHECK(model.understood(0));
  CHECK(model.understood(1));
  CHECK(model.import.bounds.least == std::map<std::string, std::int64_t>{{"h", 8}, {"w", 8}});  // two windows of four
  CHECK(model.shape("x") == "[$n, 3, $h-7 + 7, $w-7 + 7]");
  REQUIRE(model.import.sizes.size() >= 3);
  CHECK(model.import.sizes[0].above == 0);
  CHECK(model.import.sizes[1].above == 7);
}

TEST_CASE("a size that no window asks for stays at least 1, and one that fits nowhere is not searched for",
          "[open_sizes]") {
  ModelText text;
  text.input("x", {"n", "3", "h", "w"}).weight("k", {8, 3, 3, 3}).weight("q", {8, 5, 3, 3});
  text.output("y", {"n", "8", "?", "?"}).output("z", {"n", "8", "?", "?"});
  text.node("Conv", {"x", "k"}, {"y"}, {"strides=2,2", "pads=1,1,1,1"});
  text.node("Conv", {"x", "q"}, {"z"}, {"strides=2,2", "pads=0,0,0,0"});
  Imported model(text);
  CHECK(model.understood(0));
  CHECK_FALSE(model.understood(1));  // three channels are not five
  CHECK(model.import.bounds == SizeBounds());
}

TEST_CASE("a given shape says what an open size is, also where it has a least value", "[open_sizes]") {
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

TEST_CASE("sizes are followed through what slices, expands and picks integers", "[open_sizes]") {
  ModelText text;
  text.input("x", {"n", "s"}).weight("rows", {16, 4}).output("y", {"?", "?", "?"});
  integers(text, "ids", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  integers(text, "zero", {0});
  integers(text, "one", {1});
  integers(text, "lowest", {std::numeric_limits<std::int64_t>::min()});
  text.node("Shape", {"x"}, {"shape"});
  text.node("Slice", {"shape", "one", "shape_end"}, {"length"});
  integers(text, "shape_end", {2});
  text.node("Slice", {"ids", "zero", "length", "zero"}, {"some"});
  text.node("Expand", {"some", "shape"}, {"all"});
  text.node("Gather", {"rows", "all"}, {"y"});
  text.node("Slice", {"shape", "lowest", "one"}, {"batch"});
  text.node("ConstantOfShape", {"batch"}, {"ones"});
  Imported model(text);
  CHECK(model.shape("y") == "[$n, $s, 4]");
  CHECK(model.shape("ones") == "[$n]");
}

TEST_CASE("a size is at most what a table has, where what is cut off there must fit what is not", "[open_sizes]") {
  ModelText text;
  text.input("x", {"n", "s", "4"}).weight("table", {1, 16, 4}).output("y", {"n", "s", "4"});
  integers(text, "zero", {0});
  integers(text, "one", {1});
  integers(text, "two", {2});
  text.node("Shape", {"x"}, {"shape"}).node("Slice", {"shape", "one", "two"}, {"length"});
  text.node("Slice", {"table", "zero", "length", "one"}, {"places"}).node("Add", {"x", "places"}, {"y"});
  Imported model(text);
  CHECK(model.import.bounds.most == std::map<std::string, std::int64_t>{{"s", 16}});
  CHECK(model.shape("places") == "[1, $s, 4]");
  CHECK(model.understood(3));
}

}  // namespace
}  // namespace rulemill::optimize
