// Small ONNX models built in memory, and rules from text.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "algebra/terms/rule_text.h"
#include "algebra/terms/typing.h"
#include "optimize/onnx/format/model.h"
#include "optimize/onnx/format/model_proto.h"
#include "optimize/onnx/import.h"
#include "optimize/optimize.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/scratch_folder.h"
#include "runtime/text/error.h"
#include "tests/shipped_operators.h"

namespace rulemill::optimize {

/// Returns the float type of the models of all tests: that of RULEMILL_DATA_TYPE, float32 if it is not set. The tests
/// of rewriting run once in each type (cmake/tests.cmake).
inline DataType test_data_type() {
  static const std::map<std::string, DataType> types = {{"float32", DataType::Float32},
                                                        {"float16", DataType::Float16},
                                                        {"bfloat16", DataType::BFloat16},
                                                        {"float64", DataType::Float64}};
  const char* name = std::getenv("RULEMILL_DATA_TYPE");
  return types.at(name == nullptr ? "float32" : name);
}

/// A model under construction. Dimensions are numbers or names.
class ModelText {
 public:
  explicit ModelText(int opset = 13, DataType float_type = test_data_type()) : data_type(float_type) {
    model.set_ir_version(7);
    auto* set = model.add_opset_import();
    set->set_domain("");
    set->set_version(opset);
    graph().set_name("tiny");
  }

  onnx::GraphProto& graph() { return *model.mutable_graph(); }

  ModelText& input(const std::string& name, const std::vector<std::string>& dims) {
    describe(*graph().add_input(), name, dims);
    return *this;
  }
  ModelText& output(const std::string& name, const std::vector<std::string>& dims) {
    describe(*graph().add_output(), name, dims);
    return *this;
  }
  ModelText& weight(const std::string& name, const std::vector<std::int64_t>& dims) {
    std::mt19937_64 random(std::hash<std::string>()(name));
    algebra::Tensor tensor{dims, {}};
    std::int64_t count = 1;
    for (std::int64_t dim : dims) count *= dim;
    for (std::int64_t i = 0; i < count; ++i) {
      tensor.values.push_back(static_cast<float>(random() % 2001) / 1000 - 1);
    }
    *graph().add_initializer() = make_tensor_proto(name, tensor, data_type);
    return *this;
  }
  /// attributes: "axis=1", "pads=1,1,1,1" (always a list with a comma or trailing comma), "mode='word'".
  ModelText& node(const std::string& op_type, const std::vector<std::string>& inputs,
                  const std::vector<std::string>& outputs, const std::vector<std::string>& attributes = {},
                  const std::string& domain = {}) {
    auto& created = *graph().add_node();
    created.set_op_type(op_type);
    created.set_name("node_" + outputs[0]);
    created.set_domain(domain);
    for (const auto& name : inputs) created.add_input(name);
    for (const auto& name : outputs) created.add_output(name);
    for (const auto& text : attributes) {
      std::size_t equals = text.find('=');
      std::string value = text.substr(equals + 1);
      OnnxLiteral literal;
      if (value[0] == '\'') {
        literal.string_value = value.substr(1, value.size() - 2);
      } else {
        literal.is_list = value.find(',') != std::string::npos;
        for (std::size_t at = 0; at < value.size();) {
          std::size_t end = std::min(value.find(',', at), value.size());
          literal.integers.push_back(std::stoll(value.substr(at, end - at)));
          at = end + 1;
        }
      }
      *created.add_attribute() = make_attribute_proto(text.substr(0, equals), literal);
    }
    return *this;
  }

  OnnxModel parsed() const { return OnnxModel::parse(model.SerializeAsString(), "tiny.onnx"); }
  std::filesystem::path save(const std::filesystem::path& path) const {
    runtime::write_file(path, std::string_view(model.SerializeAsString()));
    return path;
  }

  onnx::ModelProto model;
  DataType data_type;  // of inputs, outputs and weights

 private:
  void describe(onnx::ValueInfoProto& info, const std::string& name, const std::vector<std::string>& dims) const {
    info.set_name(name);
    auto* tensor = info.mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(to_onnx_type(data_type));
    tensor->mutable_shape();
    for (const auto& dim : dims) {
      auto* created = tensor->mutable_shape()->add_dim();
      if (dim[0] >= '0' && dim[0] <= '9') {
        created->set_dim_value(std::stoll(dim));
      } else if (dim != "?") {
        created->set_dim_param(dim);
      }
    }
  }
};

/// Writes a copy of a float32 model with floats of the data type of the tests, and with another size for one size.
inline std::filesystem::path in_test_data_type(const std::filesystem::path& path, const std::filesystem::path& copy,
                                               std::pair<std::int64_t, std::int64_t> resized = {1, 1}) {
  OnnxModel model = OnnxModel::read(path);
  onnx::GraphProto& graph = *model.proto().model.mutable_graph();
  for (onnx::TensorProto& weight : *graph.mutable_initializer()) {
    if (weight.data_type() != onnx::TensorProto::FLOAT) continue;
    const auto tensor = to_tensor(weight, model.proto().raw(weight));
    if (!tensor) throw runtime::Error(path.string(), "cannot read weight " + weight.name());
    weight = make_tensor_proto(weight.name(), *tensor, test_data_type());
  }
  for (auto* values : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()}) {
    for (onnx::ValueInfoProto& value : *values) {
      auto& type = *value.mutable_type()->mutable_tensor_type();
      if (type.elem_type() == onnx::TensorProto::FLOAT) type.set_elem_type(to_onnx_type(test_data_type()));
      for (auto& dim : *type.mutable_shape()->mutable_dim())
        if (dim.dim_value() == resized.first) dim.set_dim_value(resized.second);
    }
  }
  runtime::write_file(copy, std::string_view(model.proto().model.SerializeAsString()));
  return copy;
}

/// The shipped definitions with rules from text, which are typed but not proved, so that tests can use wrong rules.
struct RulesFromText {
  explicit RulesFromText(const std::string& text = {}, bool reversible = false)
      : library(shipped_operators()), terms(library) {
    for (algebra::Rule& rule : algebra::parse_rules(text, "test", library, terms, symbols)) {
      auto typed = algebra::infer_types(rule, terms, symbols);
      if (auto* error = std::get_if<algebra::TypeError>(&typed)) throw runtime::Error(rule.id, error->what);
      algebra::RuleRecord record;
      record.rule = std::get<algebra::TypedRule>(typed).rule;
      record.reversible = reversible;
      rules.push_back(std::move(record));
    }
  }

  Summary optimize(const Options& options) { return run(options, library, terms, symbols, rules); }

  algebra::Library library;
  algebra::TermBank terms;
  algebra::Symbols symbols;
  std::vector<algebra::RuleRecord> rules;
};

inline ImportedModel imported(const OnnxModel& model, GraphBank& bank) {
  NodeInference inference({});
  return import_model(model, bank, &inference);
}

using runtime::ScratchFolder;

/// Two products with a common input, which can become one product and a split.
inline ModelText two_products() {
  ModelText text;
  text.input("x", {"16", "4096"}).output("p", {"16", "64"}).output("q", {"16", "32"});
  text.weight("v", {4096, 64}).weight("w", {4096, 32});
  text.node("MatMul", {"x", "v"}, {"p"}).node("MatMul", {"x", "w"}, {"q"});
  return text;
}

inline const char* merge_products = R"(
rule merge(x:2, a:2, b:2)
  let s = split(matmul(x, concat(a, b; axis=1)); axis=1, at=?)
  matmul(x, a), matmul(x, b) => s.first, s.second
)";

/// Rules that merge parallel convolutions and their biases.
inline const char* branch_rules = R"(
rule merge_kernels(x:4, v:4, w:4)
  add(conv2d(x, v), conv2d(x, w)) => conv2d(x, add(v, w))
rule enlarge_kernel(x:4, k:4)
  conv2d(x, k) => conv2d(x, enlarge(k; rows=3, cols=3))
rule bias_after_sum(x:4, b:1, y:4)
  add(add_channel(x, b), y) => add_channel(add(x, y), b)
rule merge_biases(x:4, b:1, c:1)
  add_channel(add_channel(x, b), c) => add_channel(x, add(b, c))
)";

}  // namespace rulemill::optimize
