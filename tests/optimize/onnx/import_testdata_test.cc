// The ONNX project's operator tests (Debian's libonnx-testdata): what the definitions cover must compute the same.
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <stdexcept>

#include "optimize/model/evaluate.h"
#include "optimize/onnx/format/model.h"
#include "optimize/onnx/format/model_proto.h"
#include "optimize/onnx/import.h"
#include "runtime/text/error.h"
#include "tests/shipped_operators.h"

namespace rulemill::optimize {
namespace {

namespace fs = std::filesystem;

const fs::path test_data = "/usr/share/libonnx-testdata/data";
/// Minimum number of Debian's cases that pass. tests/optimize/onnx/cases_test.py has that of the installed package.
constexpr int min_debian_passes = 536;

/// Returns the folders of cases: RULEMILL_ONNX_CASES, or Debian's.
std::vector<fs::path> case_folders() {
  if (const char* has_own_cases = std::getenv("RULEMILL_ONNX_CASES")) return {has_own_cases};
  std::vector<fs::path> folders;
  for (const char* kind : {"node", "pytorch-operator", "pytorch-converted", "simple"})
    folders.push_back(test_data / kind);
  return folders;
}

/// Returns nullopt for other than tensors of numbers. A missing file is an error, because a case without data tests
/// nothing.
std::optional<algebra::Tensor> read_tensor(const fs::path& path, DataType* data_type = nullptr) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path.string() + " cannot be read");
  onnx::TensorProto proto;
  if (!proto.ParseFromIstream(&file)) return std::nullopt;
  if (data_type != nullptr) *data_type = to_data_type(proto.data_type()).value_or(DataType::Float32);
  return to_tensor(proto, inline_raw_data(proto));
}

/// Error of rounding to the element type: expected outputs are rounded, the computed ones are not.
double rounding_error(DataType data_type) {
  return data_type == DataType::Float16 ? 0x1p-10 : data_type == DataType::BFloat16 ? 0x1p-7 : 0;
}

struct CaseResult {
  enum Kind { Passed, NotCovered, Failed } kind = NotCovered;
  std::string reason;
};

/// Returns the largest difference relative to max(1, |expected|); infinite if the shapes differ.
double difference(const algebra::Tensor& got, const algebra::Tensor& expected) {
  if (got.shape != expected.shape) return INFINITY;
  double max_difference = 0;
  for (std::size_t i = 0; i < got.values.size(); ++i) {
    double a = got.values[i], b = expected.values[i];
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b) continue;
    max_difference = std::max(max_difference, std::fabs(a - b) / std::max(1.0, std::fabs(b)));
  }
  return max_difference;
}

CaseResult run_case(const fs::path& folder, algebra::Library& library) {
  algebra::Symbols symbols;
  GraphBank bank(library, symbols);
  std::optional<OnnxModel> model;
  try {
    model = OnnxModel::read(folder / "model.onnx");
  } catch (const runtime::InputError& error) {
    return {CaseResult::NotCovered, "not read: " + std::string(error.what()).substr(error.where().size())};
  }
  // Debian's ONNX library crashes on some of the newest cases, so that types are inferred in a helper process.
  const char* binary = std::getenv("RULEMILL");
  const bool has_own_cases = std::getenv("RULEMILL_ONNX_CASES") != nullptr && binary != nullptr;
  NodeInference inference(has_own_cases ? std::vector<std::string>{binary, "type-helper"} : std::vector<std::string>());
  ImportedModel import = import_model(*model, bank, &inference);
  for (const auto& node : import.nodes) {
    if (node.lowered.is_opaque() && !node.elided && !node.is_constant() && !node.non_float) {
      return {CaseResult::NotCovered, node.op_type + ": " + node.reason};
    }
  }
  bool mapped = std::any_of(import.nodes.begin(), import.nodes.end(),
                            [](const auto& node) { return !node.lowered.is_opaque() || node.elided; });
  if (!mapped) return {CaseResult::NotCovered, "no operators"};
  if (!fs::exists(folder / "test_data_set_0")) return {CaseResult::NotCovered, "it has no data"};
  for (int set = 0; fs::exists(folder / ("test_data_set_" + std::to_string(set))); ++set) {
    fs::path data = folder / ("test_data_set_" + std::to_string(set));
    std::map<std::string, GraphEvaluator::TensorPtr> inputs;
    const auto& graph = model->proto().model.graph();
    std::set<std::string> weights;
    for (const auto& weight : graph.initializer()) weights.insert(weight.name());
    for (int i = 0; i < graph.input_size(); ++i) {
      if (weights.contains(graph.input(i).name())) continue;
      auto tensor = read_tensor(data / ("input_" + std::to_string(i) + ".pb"));
      if (tensor) inputs[graph.input(i).name()] = std::make_shared<algebra::Tensor>(std::move(*tensor));
    }
    for (NodeId id : bank.live_nodes(import.outputs)) {
      const Node& node = bank.node(id);
      const bool given_input = node.kind == Node::Kind::Input && inputs.contains(bank.value(node.outputs[0]).name);
      if (node.kind == Node::Kind::Opaque || (node.kind == Node::Kind::Input && !given_input))
        return {CaseResult::NotCovered, "it computes on values that are not float tensors"};
    }
    GraphEvaluator evaluator(bank, {}, [&](ValueId id) { return inputs.at(bank.value(id).name); });
    for (std::size_t i = 0; i < import.outputs.size(); ++i) {
      DataType data_type = DataType::Float32;
      auto expected = read_tensor(data / ("output_" + std::to_string(i) + ".pb"), &data_type);
      if (!expected) return {CaseResult::NotCovered, "an expected output is no tensor of numbers"};
      double error = difference(*evaluator.value(import.outputs[i]), *expected);
      if (!(error <= (has_own_cases ? 1e-4 : 1e-5) + rounding_error(data_type)))
        return {CaseResult::Failed, "output " + std::to_string(i) + " differs by " + std::to_string(error)};
    }
  }
  return {CaseResult::Passed, ""};
}

TEST_CASE("operators compute the expected outputs of ONNX's operator tests", "[.][onnx]") {
  const bool has_own_cases = std::getenv("RULEMILL_ONNX_CASES") != nullptr;
  if (!has_own_cases && !fs::exists(test_data)) {
    std::cout << "SKIPPED: libonnx-testdata is not installed (scripts/install-debian.sh)\n";
    return;
  }
  algebra::Library library = shipped_operators();
  std::vector<fs::path> folders;
  for (const fs::path& kind : case_folders()) {
    for (const auto& entry : fs::directory_iterator(kind)) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  int passed = 0, failed = 0;
  std::map<std::string, std::vector<std::string>> uncovered;
  for (const fs::path& folder : folders) {
    CaseResult result = run_case(folder, library);
    std::string name = folder.filename();
    switch (result.kind) {
      case CaseResult::Passed:
        ++passed;
        std::cout << "passed " << name << "\n";
        break;
      case CaseResult::Failed:
        ++failed;
        std::cout << "FAILED " << name << ": " << result.reason << "\n";
        break;
      case CaseResult::NotCovered:
        uncovered[result.reason].push_back(name);
        break;
    }
  }
  std::size_t others = 0;
  for (const auto& [reason, names] : uncovered) {
    others += names.size();
    std::cout << "not covered (" << reason << "):";
    for (const std::string& name : names) std::cout << " " << name;
    std::cout << "\n";
  }
  std::cout << "ONNX operator tests: " << passed << " pass, " << failed << " differ, " << others
            << " not covered by our operators, of " << folders.size() << "\n";
  CHECK(failed == 0);
  CHECK((has_own_cases || passed >= min_debian_passes));
}

}  // namespace
}  // namespace rulemill::optimize
