#include "optimize/onnx/mapping_check.h"

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "algebra/execution/plan.h"
#include "algebra/sizes/checked.h"
#include "optimize/evaluate.h"
#include "optimize/onnx/import.h"
#include "optimize/onnx/model_proto.h"
#include "optimize/onnx/random_node.h"
#include "runtime/error.h"
#include "runtime/interrupt.h"
#include "runtime/json_report.h"
#include "runtime/subprocess.h"

namespace rulemill::optimize {

namespace {

namespace fs = std::filesystem;
using runtime::Json;
using Values = std::vector<std::vector<float>>;

constexpr int newest_opset = 23;
constexpr int most_draws = 4000;              // for one node
constexpr std::uint64_t largest_integer = 2;  // of an input of integers, which are places for the most part
constexpr std::uint64_t helper_memory = std::uint64_t{8} << 30;
constexpr std::chrono::seconds patience{60};

/// A folder of its own for as long as it lives.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("rulemill-mappings-" + std::to_string(getpid()))) {
    fs::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path file(const std::string& stem, std::size_t number) const { return path_ / (stem + std::to_string(number)); }

 private:
  fs::path path_;
};

Element element_of_kind(algebra::ElementKind kind) {
  using algebra::ElementKind;
  return kind == ElementKind::Truths     ? Element::Truth
         : kind == ElementKind::Integers ? Element::Integer
                                         : Element::Float32;
}

onnx::ValueInfoProto info(const std::string& name, const std::vector<std::int64_t>& shape, algebra::ElementKind kind) {
  onnx::ValueInfoProto result;
  result.set_name(name);
  auto& type = *result.mutable_type()->mutable_tensor_type();
  type.set_elem_type(data_type_of(element_of_kind(kind)));
  auto& dims = *type.mutable_shape();
  for (std::int64_t dim : shape) dims.add_dim()->set_dim_value(dim);
  return result;
}

std::string argument_name(std::size_t argument) { return "x" + std::to_string(argument); }

/// The node as a model, whose inputs are the instance's arguments in order but for those that attributes have.
onnx::ModelProto model_of(const RandomNode& node, const Values& values, const std::set<std::string>& absent) {
  onnx::ModelProto model;
  constexpr int ir_version = 8;
  model.set_ir_version(ir_version);
  model.add_opset_import()->set_version(node.opset);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("one");
  onnx::NodeProto& made = *graph.add_node();
  made.set_op_type(node.text.op_type);
  for (const auto& [name, value] : node.text.attributes) *made.add_attribute() = attribute_proto(name, value);
  std::vector<bool> in_attribute(node.shapes.size(), false);
  for (const auto& [name, argument] : node.text.attribute_arguments) {
    OnnxLiteral number;
    number.number = values[argument].at(0);
    number.reals = node.text.tensor_attributes.contains(name);
    if (!absent.contains(name)) *made.add_attribute() = attribute_proto(name, number);
    in_attribute[argument] = true;
  }
  for (std::size_t i = 0; i < node.shapes.size(); ++i) {
    if (!in_attribute[i]) *graph.add_input() = info(argument_name(i), node.shapes[i], node.instance->input_kinds[i]);
  }
  for (std::size_t i = 0; i < node.text.arguments.size(); ++i) {
    if (node.text.arguments[i]) {
      made.add_input(argument_name(*node.text.arguments[i]));
      continue;
    }
    const OnnxLiteral& constant = node.text.constants[i];
    const std::string name = constant.other ? "" : "c" + std::to_string(i);
    made.add_input(name);
    if (constant.other) continue;
    *graph.add_initializer() =
        constant.number ? number_proto(name, {{}, {*constant.number}}) : integer_proto(name, constant);
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    made.add_output("y" + std::to_string(i));
    *graph.add_output() = info("y" + std::to_string(i), node.outputs[i], node.instance->outputs[i].kind);
  }
  return model;
}

std::string text_of(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (std::int64_t dim : shape) text += (text.empty() ? "" : ",") + std::to_string(dim);
  return "[" + text + "]";
}

class Check {
 public:
  Check(algebra::Library& library, const MappingCheckOptions& options)
      : library_(library), options_(options), helper_(options.command, helper_memory) {
    const auto hello = helper_.receive(patience);
    if (!hello)
      throw runtime::Error("onnxruntime", options.command[0] + " cannot import it (" + helper_.end_reason() + ")");
    judge_ = Json::parse(runtime::text_of(*hello)).at("name");
  }

  const std::string& judge() const { return judge_; }

  MappingReport run(const algebra::OnnxForm& form) {
    MappingReport report{form.operator_name, form.op_type, form.number, 0, 0, {}, {}};
    std::mt19937_64 random(options_.seed + form.number);
    for (int trial = 0; trial < options_.trials && report.difference.empty(); ++trial) {
      runtime::throw_if_interrupted("operators check");
      std::optional<RandomNode> node;
      for (int draw = 0; draw < most_draws && !node; ++draw) node = random_node(library_, form, newest_opset, random);
      if (!node) break;
      compare(form, *node, random, report);
    }
    return report;
  }

 private:
  void compare(const algebra::OnnxForm& form, const RandomNode& node, std::mt19937_64& random, MappingReport& report) {
    Values inputs;
    std::uniform_real_distribution<float> draw(random() % 2 == 0 ? -2.0F : 0.1F, 2.0F);
    for (std::size_t i = 0; i < node.shapes.size(); ++i) {
      auto& values = inputs.emplace_back(static_cast<std::size_t>(algebra::element_count(node.shapes[i])));
      const algebra::ElementKind kind = node.instance->input_kinds[i];
      const std::uint64_t last = kind == algebra::ElementKind::Truths ? 1 : largest_integer;
      const bool few = random() % 2 == 0;  // numbers that are often equal
      for (float& value : values) {
        const float number = draw(random);
        value = kind != algebra::ElementKind::Numbers ? static_cast<float>(random() % (last + 1))
                : few                                 ? std::nearbyint(number)
                                                      : number;
      }
    }
    std::set<std::string> absent;
    for (const auto& [name, argument] : node.text.attribute_arguments) {
      const auto by_default = form.absent.find(name);
      if (by_default != form.absent.end() && random() % 2 == 0) {
        absent.insert(name);
        inputs[argument][0] = static_cast<float>(by_default->second);
      } else {
        inputs[argument][0] = std::fabs(inputs[argument][0]) + 0.01F;
      }
    }
    const onnx::ModelProto model = model_of(node, inputs, absent);
    std::string refusal;
    const auto expected = run_elsewhere(model, node, inputs, refusal);
    if (!expected) {
      ++report.refused;
      report.refusal = refusal;
      return;
    }
    std::string what = difference(defined(node, inputs), *expected);
    if (what.empty()) {
      what = difference(imported(model, node, inputs), *expected);
      if (!what.empty()) what = "as a model is read: " + what;
    }
    if (what.empty()) {
      ++report.agreed;
    } else {
      report.difference = node.instance->name + " on";
      for (const auto& shape : node.shapes) report.difference += " " + text_of(shape);
      report.difference += ", opset " + std::to_string(node.opset) + ": " + what;
    }
  }

  std::optional<Values> run_elsewhere(const onnx::ModelProto& model, const RandomNode& node, const Values& inputs,
                                      std::string& refusal) {
    Json question = {{"inputs", Json::array()}, {"outputs", Json::array()}};
    const fs::path path = folder_.file("model", 0);
    std::ofstream(path, std::ios::binary) << model.SerializeAsString();
    question["model"] = path.string();
    for (int i = 0; i < model.graph().input_size(); ++i) {
      const auto argument = std::stoul(model.graph().input(i).name().substr(1));
      const auto bytes = std::as_bytes(std::span(inputs[argument]));
      const fs::path file = folder_.file("input", argument);
      std::ofstream(file, std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
      question["inputs"].push_back(file.string());
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      question["outputs"].push_back(folder_.file("output", i).string());
    const std::string text = question.dump();
    helper_.send(runtime::bytes_of(std::string_view(text)));
    const auto frame = helper_.receive(patience);
    if (!frame) throw runtime::Error("onnxruntime", "its process ended: " + helper_.end_reason());
    const Json answer = Json::parse(runtime::text_of(*frame));
    if (answer.contains("error")) {
      refusal = answer.at("error");
      return std::nullopt;
    }
    Values outputs;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const std::vector<std::int64_t> shape = answer.at("shapes").at(i);
      if (shape != node.outputs[i]) outputs.emplace_back();
      if (shape != node.outputs[i]) continue;
      auto& values = outputs.emplace_back(static_cast<std::size_t>(algebra::element_count(shape)));
      std::ifstream(folder_.file("output", i), std::ios::binary)
          .read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
    }
    return outputs;
  }

  Values defined(const RandomNode& node, const Values& inputs) const {
    const auto plan = algebra::compile(*node.instance, node.shapes, node.size_parameters);
    if (!plan) return {};
    std::vector<std::vector<double>> exact;
    for (const auto& values : inputs) exact.emplace_back(values.begin(), values.end());
    const std::vector<std::span<const double>> views(exact.begin(), exact.end());
    Values result;
    for (const auto& values : algebra::evaluate(library_.functions(), *plan, views))
      result.emplace_back(values.begin(), values.end());
    return result;
  }

  /// What a model of this node computes as the importer understands it; empty where it stays as it is.
  Values imported(const onnx::ModelProto& proto, const RandomNode& node, const Values& inputs) const {
    const OnnxModel model = OnnxModel::parse(proto.SerializeAsString(), "model");
    algebra::Symbols symbols;
    GraphBank bank(library_, symbols);
    const Import import = import_model(model, bank);
    if (import.nodes.at(0).recipe.opaque() && !import.nodes[0].dropped) return {};
    Evaluator evaluator(bank, {}, [&](ValueId id) {
      const auto argument = std::stoul(bank.value(id).name.substr(1));
      return std::make_shared<const algebra::Tensor>(
          algebra::Tensor{node.shapes[argument], {inputs[argument].begin(), inputs[argument].end()}});
    });
    Values result;
    for (ValueId output : import.outputs) {
      const auto tensor = evaluator.value(output);
      result.emplace_back(tensor->values.begin(), tensor->values.end());
    }
    return result;
  }

  std::string difference(const Values& ours, const Values& theirs) const {
    if (ours.empty()) return "it is not understood";
    for (std::size_t i = 0; i < ours.size(); ++i) {
      const std::string output = "output " + std::to_string(i);
      if (ours[i].size() != theirs[i].size()) return output + " has another shape";
      for (std::size_t k = 0; k < ours[i].size(); ++k) {
        const double a = ours[i][k], b = theirs[i][k];
        if (a == b || (std::isnan(a) && std::isnan(b))) continue;
        if (!(std::fabs(a - b) <= options_.tolerance * std::max(1.0, std::fabs(b))))
          return output + " has " + std::to_string(a) + " at " + std::to_string(k) + ", expected " + std::to_string(b);
      }
    }
    return {};
  }

  algebra::Library& library_;
  const MappingCheckOptions& options_;
  runtime::Subprocess helper_;
  std::string judge_;
  Folder folder_;
};

}  // namespace

std::vector<MappingReport> check_mappings(algebra::Library& library, const MappingCheckOptions& options,
                                          std::string& judge) {
  Check check(library, options);
  judge = check.judge();
  std::vector<MappingReport> result;
  for (const algebra::OnnxForm& form : library.onnx_forms()) result.push_back(check.run(form));
  return result;
}

}  // namespace rulemill::optimize
