#include "optimize/onnx/mapping_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "algebra/execution/plan.h"
#include "algebra/language/generic_onnx_mapping.h"
#include "algebra/operators/aten_domain.h"
#include "algebra/sizes/checked.h"
#include "optimize/model/evaluate.h"
#include "optimize/onnx/format/model.h"
#include "optimize/onnx/format/model_proto.h"
#include "optimize/onnx/import.h"
#include "optimize/onnx/mapping/random_node.h"
#include "runtime/files/scratch_folder.h"
#include "runtime/process/interrupt.h"
#include "runtime/process/subprocess.h"
#include "runtime/text/error.h"
#include "runtime/text/json.h"

namespace rulemill::optimize {
namespace {

/// A version of an operator: it holds up to the next version.
struct OperatorSchema {
  int since = 1;
  std::vector<std::string> attributes;
  std::size_t max_inputs = 0;
};

struct KnownSchemas {
  int newest_version = 0;                // of the domain; 0: the runtime does not have the domain
  std::vector<OperatorSchema> versions;  // of the operator, oldest first
};

/// Returns the versions that hold in an opset of the mapping. Other domains than ONNX's own have one version.
std::vector<const OperatorSchema*> versions_of(const algebra::GenericOnnxMapping& mapping, const KnownSchemas& known) {
  std::vector<const OperatorSchema*> found;
  for (std::size_t i = 0; i < known.versions.size(); ++i) {
    const bool is_replaced = i + 1 < known.versions.size() && known.versions[i + 1].since <= mapping.since;
    if (!is_replaced && known.versions[i].since < mapping.until) found.push_back(&known.versions[i]);
  }
  return found;
}

/// Returns what the mapping names that does not exist in its domain, which the runtime has; empty if all exists, or if
/// the mapping is for a newer opset than the runtime's.
std::string find_unknown_name(const algebra::GenericOnnxMapping& mapping, const KnownSchemas& known) {
  const std::string domain = mapping.domain.empty() ? "ONNX" : "domain " + mapping.domain;
  if (mapping.since > known.newest_version) return {};
  const std::string name = "operator " + mapping.op_type + " of " + domain;
  const std::vector<const OperatorSchema*> versions = versions_of(mapping, known);
  if (versions.empty()) return name;
  for (const std::string& attribute : mapping.attribute_names) {
    const bool exists = std::ranges::any_of(
        versions, [&](const auto* each) { return std::ranges::count(each->attributes, attribute) > 0; });
    if (!exists) return "attribute " + attribute + " of " + name;
  }
  const bool has_inputs =
      std::ranges::any_of(versions, [&](const auto* each) { return each->max_inputs >= mapping.inputs.size(); });
  return has_inputs ? "" : "input " + std::to_string(mapping.inputs.size()) + " of " + name;
}

namespace fs = std::filesystem;
using runtime::Json;
using Values = std::vector<std::vector<float>>;

constexpr int max_draws = 4000;           // per node
constexpr int max_rejections = 6;         // nodes that the runtime rejects, per node that it runs
constexpr std::uint64_t max_integer = 2;  // of integer inputs, which are indices in most operators
/// Real numbers at which functions that agree on most numbers differ: one for each node before the random ones.
constexpr std::array<float, 6> chosen_numbers = {0, 1, -1, 0.5F, 2, 20};
constexpr std::uint64_t helper_memory = std::uint64_t{8} << 30;
constexpr std::chrono::seconds timeout{60};

DataType data_type_of(algebra::ScalarKind kind) {
  using algebra::ScalarKind;
  return kind == ScalarKind::Bool ? DataType::Bool : kind == ScalarKind::Int ? DataType::Integer : DataType::Float32;
}

onnx::ValueInfoProto info(const std::string& name, const std::vector<std::int64_t>& shape, algebra::ScalarKind kind) {
  onnx::ValueInfoProto result;
  result.set_name(name);
  auto& type = *result.mutable_type()->mutable_tensor_type();
  type.set_elem_type(to_onnx_type(data_type_of(kind)));
  auto& dims = *type.mutable_shape();
  for (std::int64_t dim : shape) dims.add_dim()->set_dim_value(dim);
  return result;
}

std::string argument_name(std::size_t argument) { return "x" + std::to_string(argument); }

/// The node as a model whose inputs are the instance's arguments in order, except those that attributes hold.
onnx::ModelProto model_of(const RandomNode& node, const Values& values, const std::set<std::string>& absent) {
  onnx::ModelProto model;
  constexpr int ir_version = 8;
  model.set_ir_version(ir_version);
  model.add_opset_import()->set_version(node.opset);
  if (!node.spec.domain.empty()) {
    onnx::OperatorSetIdProto& set = *model.add_opset_import();
    set.set_domain(node.spec.domain);
    set.set_version(1);
  }
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("one");
  onnx::NodeProto& proto_node = *graph.add_node();
  proto_node.set_op_type(node.spec.op_type);
  proto_node.set_domain(node.spec.domain);
  for (const auto& [name, value] : node.spec.attributes)
    *proto_node.add_attribute() = make_attribute_proto(name, value);
  std::vector<bool> in_attribute(node.shapes.size(), false);
  for (const auto& [name, argument] : node.spec.attribute_arguments) {
    OnnxLiteral number;
    number.float_value = values[argument].at(0);
    number.as_float32 = node.spec.tensor_attributes.contains(name);
    if (!absent.contains(name)) *proto_node.add_attribute() = make_attribute_proto(name, number);
    in_attribute[argument] = true;
  }
  for (std::size_t i = 0; i < node.shapes.size(); ++i) {
    if (!in_attribute[i])
      *graph.add_input() = info(argument_name(i), node.shapes[i], node.instance->input_scalar_kinds[i]);
  }
  for (std::size_t i = 0; i < node.spec.arguments.size(); ++i) {
    if (node.spec.arguments[i]) {
      proto_node.add_input(argument_name(*node.spec.arguments[i]));
      continue;
    }
    const OnnxLiteral& constant = node.spec.constants[i];
    const std::string name = constant.is_unsupported ? "" : "c" + std::to_string(i);
    proto_node.add_input(name);
    if (constant.is_unsupported) continue;
    *graph.add_initializer() = constant.float_value ? make_tensor_proto(name, {{}, {*constant.float_value}})
                                                    : make_integer_proto(name, constant);
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    proto_node.add_output("y" + std::to_string(i));
    *graph.add_output() = info("y" + std::to_string(i), node.outputs[i], node.instance->outputs[i].scalar_kind);
  }
  return model;
}

std::string format_shape(const std::vector<std::int64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

class MappingChecker {
 public:
  MappingChecker(algebra::Library& library, const MappingCheckOptions& options)
      : library_(library), options_(options), helper_(options.command, helper_memory) {
    const auto greeting = helper_.receive(timeout);
    if (!greeting)
      throw runtime::Error("operators check", options.command[0] + " cannot import " +
                                                  (options.is_torch ? "torch" : "onnxruntime") + " (" +
                                                  helper_.end_reason() + ")");
    verifier_ = runtime::parse_json(runtime::text_of(*greeting)).at("name");
    newest_opset_ = ask({{"schemas_of", "Identity"}, {"domain", ""}}).at("newest");
  }

  const std::string& verifier() const { return verifier_; }

  /// Returns an empty report of the mapping, with the reason if the runtime does not have its domain. Throws InputError
  /// if the domain does not have something that the mapping names.
  MappingReport check_names(const algebra::GenericOnnxMapping& mapping) {
    MappingReport report{mapping.operator_name, mapping.op_type, mapping.index, 0, 0, {}, {}};
    const Json answer = ask({{"schemas_of", mapping.op_type}, {"domain", mapping.domain}});
    KnownSchemas known{answer.at("newest"), {}};
    for (const Json& schema : answer.at("schemas"))
      known.versions.push_back({schema.at("since"), schema.at("attributes"), schema.at("max_inputs")});
    if (known.newest_version == 0) {
      report.rejection = verifier_ + " does not have domain " + mapping.domain;
      return report;
    }
    const std::string unknown = find_unknown_name(mapping, known);
    if (!unknown.empty()) throw runtime::InputError(mapping.place, verifier_ + " does not have " + unknown);
    return report;
  }

  void run(const algebra::GenericOnnxMapping& mapping, MappingReport& report) {
    std::mt19937_64 random(options_.seed + mapping.index);
    const int chosen = static_cast<int>(chosen_numbers.size());
    for (int trial = 0; trial < chosen + options_.trials && report.difference.empty(); ++trial) {
      const int agreed = report.agreed;
      for (int tries = 0; tries < max_rejections && report.agreed == agreed && report.difference.empty(); ++tries) {
        runtime::throw_if_interrupted("operators check");
        std::optional<RandomNode> node;
        for (int draw = 0; draw < max_draws && !node; ++draw)
          node = random_node(library_, mapping, newest_opset_, random);
        if (!node) return;
        const bool is_chosen = trial < chosen;
        Values inputs =
            is_chosen ? chosen_inputs(*node, static_cast<std::size_t>(trial), random) : random_inputs(*node, random);
        compare(mapping, *node, std::move(inputs), (is_chosen ? trial : static_cast<int>(random() % 2)) % 2 == 0,
                report);
      }
    }
  }

  /// Compares nodes that the helper has run with other types of elements; adds a report for each that differs.
  void check_other_types(std::vector<MappingReport>& reports) {
    const Json answer = ask({{"other_types", true}}, 10 * timeout);
    if (answer.contains("error")) throw runtime::Error("operators check", answer.at("error"));
    for (const Json& each : answer.at("differing"))
      reports.push_back({each.at("op_type"), each.at("op_type"), 0, 0, 0, each.at("difference"), {}});
  }

 private:
  static float random_integer(algebra::ScalarKind kind, std::mt19937_64& random) {
    return static_cast<float>(random() % (kind == algebra::ScalarKind::Bool ? 2 : max_integer + 1));
  }

  static Values random_inputs(const RandomNode& node, std::mt19937_64& random) {
    Values inputs;
    std::uniform_real_distribution<float> draw(random() % 2 == 0 ? -2.0F : 0.1F, 2.0F);
    for (std::size_t i = 0; i < node.shapes.size(); ++i) {
      auto& values = inputs.emplace_back(static_cast<std::size_t>(algebra::element_count(node.shapes[i])));
      const algebra::ScalarKind kind = node.instance->input_scalar_kinds[i];
      const bool rounded = random() % 2 == 0;  // so that equal values are frequent
      for (float& value : values) {
        const float number = draw(random);
        value = kind != algebra::ScalarKind::Real ? random_integer(kind, random)
                : rounded                         ? std::nearbyint(number)
                                                  : number;
      }
    }
    return inputs;
  }

  /// Every real element has every chosen number once, in the trials together, and most pairs of elements meet.
  static Values chosen_inputs(const RandomNode& node, std::size_t trial, std::mt19937_64& random) {
    Values inputs;
    for (std::size_t i = 0; i < node.shapes.size(); ++i) {
      auto& values = inputs.emplace_back(static_cast<std::size_t>(algebra::element_count(node.shapes[i])));
      const algebra::ScalarKind kind = node.instance->input_scalar_kinds[i];
      for (std::size_t k = 0; k < values.size(); ++k) {
        values[k] = kind == algebra::ScalarKind::Real
                        ? chosen_numbers[(k / (i + 1) + i + trial) % chosen_numbers.size()]
                        : random_integer(kind, random);
      }
    }
    return inputs;
  }

  /// Compares the node on the inputs. Numbers of attributes become positive, or have their defaults, if they have any.
  void compare(const algebra::GenericOnnxMapping& mapping, const RandomNode& node, Values inputs, bool use_defaults,
               MappingReport& report) {
    std::set<std::string> absent;
    for (const auto& [name, argument] : node.spec.attribute_arguments) {
      const auto by_default = mapping.defaults.find(name);
      if (by_default != mapping.defaults.end() && use_defaults) {
        absent.insert(name);
        inputs[argument][0] = static_cast<float>(by_default->second);
      } else {
        inputs[argument][0] = std::min(std::fabs(inputs[argument][0]), 2.0F) + 0.01F;  // larger exponents overflow
      }
    }
    const onnx::ModelProto model = model_of(node, inputs, absent);
    std::string rejection;
    const auto expected = run_in_onnxruntime(model, node, inputs, rejection);
    if (!expected) {
      ++report.rejected;
      report.rejection = rejection;
      return;
    }
    std::string mismatch = find_difference(run_definition(node, inputs), *expected);
    if (mismatch.empty()) {
      mismatch = find_difference(run_imported(model, node, inputs), *expected);
      if (!mismatch.empty()) mismatch = "when imported: " + mismatch;
    }
    if (mismatch.empty()) {
      ++report.agreed;
    } else {
      report.difference = node.instance->name + " on";
      for (const auto& shape : node.shapes) report.difference += " " + format_shape(shape);
      report.difference += ", opset " + std::to_string(node.opset) + ": " + mismatch;
    }
  }

  Json ask(const Json& question, std::chrono::seconds limit = timeout) {
    const std::string text = runtime::to_text(question);
    helper_.send(runtime::bytes_of(std::string_view(text)));
    const auto frame = helper_.receive(limit);
    if (!frame) throw runtime::Error(verifier_, "the process ended: " + helper_.end_reason());
    return runtime::parse_json(runtime::text_of(*frame));
  }

  fs::path file(const std::string& stem, std::size_t number) const { return folder_ / (stem + std::to_string(number)); }

  std::optional<Values> run_in_onnxruntime(const onnx::ModelProto& model, const RandomNode& node, const Values& inputs,
                                           std::string& rejection) {
    Json question = {{"inputs", Json::array()}, {"outputs", Json::array()}};
    const fs::path path = file("model", 0);
    std::ofstream(path, std::ios::binary) << model.SerializeAsString();
    question["model"] = path.string();
    for (int i = 0; i < model.graph().input_size(); ++i) {
      const auto argument = std::stoul(model.graph().input(i).name().substr(1));
      const auto bytes = std::as_bytes(std::span(inputs[argument]));
      const fs::path input = file("input", argument);
      std::ofstream(input, std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
      question["inputs"].push_back(input.string());
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) question["outputs"].push_back(file("output", i).string());
    const Json answer = ask(question);
    if (answer.contains("error")) {
      rejection = answer.at("error");
      return std::nullopt;
    }
    Values outputs;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const std::vector<std::int64_t> shape = answer.at("shapes").at(i);
      if (shape != node.outputs[i]) outputs.emplace_back();
      if (shape != node.outputs[i]) continue;
      auto& values = outputs.emplace_back(static_cast<std::size_t>(algebra::element_count(shape)));
      std::ifstream(file("output", i), std::ios::binary)
          .read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
    }
    return outputs;
  }

  Values run_definition(const RandomNode& node, const Values& inputs) const {
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

  /// Computes the outputs through the importer; empty if the node stays opaque.
  Values run_imported(const onnx::ModelProto& proto, const RandomNode& node, const Values& inputs) const {
    const OnnxModel model = OnnxModel::parse(proto.SerializeAsString(), "model");
    algebra::Symbols symbols;
    GraphBank bank(library_, symbols);
    const ImportedModel import = import_model(model, bank);
    if (import.nodes.at(0).lowered.is_opaque() && !import.nodes[0].elided) return {};
    GraphEvaluator evaluator(bank, {}, [&](ValueId id) {
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

  std::string find_difference(const Values& actual, const Values& expected) const {
    if (actual.empty()) return "the node is not recognized";
    for (std::size_t i = 0; i < actual.size(); ++i) {
      const std::string output = "output " + std::to_string(i);
      if (actual[i].size() != expected[i].size()) return output + " has another shape";
      for (std::size_t k = 0; k < actual[i].size(); ++k) {
        const double a = actual[i][k], b = expected[i][k];
        if (a == b || (std::isnan(a) && std::isnan(b))) continue;
        if (!(std::fabs(a - b) <= options_.tolerance * std::max(1.0, std::fabs(b))))
          return fmt::format("{} has {} at {}, expected {}", output, a, k, b);
      }
    }
    return {};
  }

  algebra::Library& library_;
  const MappingCheckOptions& options_;
  runtime::Subprocess helper_;
  std::string verifier_;
  int newest_opset_ = 0;
  runtime::ScratchFolder folder_;
};

}  // namespace

std::vector<MappingReport> check_mappings(algebra::Library& library, const MappingCheckOptions& options,
                                          std::string& verifier) {
  MappingChecker checker(library, options);
  verifier = checker.verifier();
  std::vector<MappingReport> reports;
  std::vector<algebra::GenericOnnxMapping> mappings = library.onnx_mappings();
  std::erase_if(mappings,
                [&](const auto& mapping) { return options.is_torch != (mapping.domain == algebra::aten_domain); });
  for (const algebra::GenericOnnxMapping& mapping : mappings) reports.push_back(checker.check_names(mapping));
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (reports[i].rejection.empty()) checker.run(mappings[i], reports[i]);
  }
  if (options.is_torch) checker.check_other_types(reports);
  return reports;
}

}  // namespace rulemill::optimize
