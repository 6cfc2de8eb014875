#include <catch2/catch.hpp>

#include "optimize/onnx/clean/clean.h"
#include "tests/optimize/models.h"

namespace rulemill::optimize {

namespace {

/// A model that writes updates of 2 x 3 to the positions that the indices list. `form` says how they are stored.
enum class IndexForm { Constant, Expanded };

struct Update {
  std::vector<std::int64_t> rows{0, 1}, columns{0, 1, 2};
  std::int64_t height = 2;  // of the tensor that is updated
  std::vector<std::string> attributes{};
};

void add_constant(ModelText& text, const std::string& name, std::vector<std::int64_t> dims,
                  const std::vector<std::int64_t>& values) {
  onnx::TensorProto& tensor = *text.graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::INT64);
  for (const std::int64_t dim : dims) tensor.add_dims(dim);
  for (const std::int64_t value : values) tensor.add_int64_data(value);
}

void add_expanded_coordinate(ModelText& text, const std::string& name, const std::vector<std::int64_t>& dims,
                             const std::vector<std::int64_t>& values) {
  add_constant(text, name + "_values", dims, values);
  text.node("Expand", {name + "_values", "size"}, {name + "_expanded"});
  text.node("Unsqueeze", {name + "_expanded", "last"}, {name});
}

bool is_removed(const Update& update, IndexForm form) {
  ModelText text(17);
  const std::string height = std::to_string(update.height);
  text.input("data", {height, "3"}).input("updates", {"2", "3"}).output("y", {height, "3"});
  if (form == IndexForm::Constant) {
    std::vector<std::int64_t> pairs;
    for (const std::int64_t row : update.rows) {
      for (const std::int64_t column : update.columns) pairs.insert(pairs.end(), {row, column});
    }
    add_constant(text, "indices", {2, 3, 2}, pairs);
  } else {
    add_constant(text, "size", {2}, {2, 3});
    add_constant(text, "last", {1}, {2});
    add_expanded_coordinate(text, "row", {2, 1}, update.rows);
    add_expanded_coordinate(text, "column", {3}, update.columns);
    text.node("Concat", {"row", "column"}, {"indices"}, {"axis=-1"});
  }
  text.node("Relu", {"updates"}, {"u"}).node("ScatterND", {"data", "indices", "u"}, {"y"}, update.attributes);
  NodeInference inference({});
  OnnxModel model = text.parsed();
  clean_model(model, inference);
  for (const auto& node : model.proto().model.graph().node()) {
    if (node.op_type() == "ScatterND") return false;
  }
  return true;
}

}  // namespace

TEST_CASE("an update of every position in order is its values", "[clean]") {
  for (const IndexForm form : {IndexForm::Constant, IndexForm::Expanded}) {
    CHECK(is_removed({}, form));
    CHECK(is_removed({.attributes = {"reduction='none'"}}, form));
  }
}

TEST_CASE("an update in another order, of some positions, or that adds stays", "[clean]") {
  for (const IndexForm form : {IndexForm::Constant, IndexForm::Expanded}) {
    CHECK_FALSE(is_removed({.rows = {1, 0}}, form));
    CHECK_FALSE(is_removed({.columns = {0, 2, 1}}, form));
    CHECK_FALSE(is_removed({.columns = {0, 1, 1}}, form));
    CHECK_FALSE(is_removed({.height = 4}, form));
    CHECK_FALSE(is_removed({.attributes = {"reduction='add'"}}, form));
  }
}

}  // namespace rulemill::optimize
