// The ONNX project's own operator tests (Debian's libonnx-testdata): what our definitions cover must mean the same.
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

#include "optimize/evaluate.h"
#include "optimize/onnx/import.h"
#include "optimize/onnx/model_proto.h"
#include "runtime/error.h"

namespace rulemill::optimize {
namespace {

namespace fs = std::filesystem;

const fs::path test_data = "/usr/share/libonnx-testdata/data";
/// Of Debian's cases as many pass: fewer are a loss. tests/optimize/onnx/cases_test.py says it of the installed
/// package's.
constexpr int debian_passes = 536;

/// Folders of cases: where RULEMILL_ONNX_CASES says, or Debian's.
std::vector<fs::path> case_folders() {
  if (const char* given = std::getenv("RULEMILL_ONNX_CASES")) return {given};
  std::vector<fs::path> folders;
  for (const char* kind : {"node", "pytorch-operator", "pytorch-converted", "simple"})
    folders.push_back(test_data / kind);
  return folders;
}

/// Nothing for what is no tensor of numbers. What is not there at all is an error: a case without its data shows
/// nothing.
std::optional<algebra::Tensor> read_tensor(const fs::path& path, Element* element = nullptr) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path.string() + " cannot be read");
  onnx::TensorProto proto;
  if (!proto.ParseFromIstream(&file)) return std::nullopt;
  if (element != nullptr) *element = element_of(proto.data_type()).value_or(Element::Float32);
  return number_tensor(proto, raw_inside(proto));
}

/// What rounding to the element type may make of a number: expected outputs are rounded, ours are not.
double allowed_for(Element element) {
  return element == Element::Float16 ? 0x1p-10 : element == Element::BFloat16 ? 0x1p-7 : 0;
}

struct Outcome {
  enum Kind { Passed, NotCovered, Failed } kind = NotCovered;
  std::string reason;
};

/// Largest difference relative to max(1, |expected|); infinite if the shapes differ.
double difference(const algebra::Tensor& got, const algebra::Tensor& expected) {
  if (got.shape != expected.shape) return INFINITY;
  double worst = 0;
  for (std::size_t i = 0; i < got.values.size(); ++i) {
    double a = got.values[i], b = expected.values[i];
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b) continue;
    worst = std::max(worst, std::fabs(a - b) / std::max(1.0, std::fabs(b)));
  }
  return worst;
}

Outcome run_case(const fs::path& folder, algebra::Library& library) {
  algebra::Symbols symbols;
  GraphBank bank(library, symbols);
  std::optional<OnnxModel> model;
  try {
    model = OnnxModel::read(folder / "model.onnx");
  } catch (const runtime::InputError& error) {
    return {Outcome::NotCovered, "not read: " + std::string(error.what()).substr(error.where().size())};
  }
  // Debian's ONNX library crashes on some of the newest cases.
  const char* binary = std::getenv("RULEMILL");
  const bool given = std::getenv("RULEMILL_ONNX_CASES") != nullptr && binary != nullptr;
  NodeInference inference(given ? std::vector<std::string>{binary, "type-helper"} : std::vector<std::string>());
  Import import = import_model(*model, bank, &inference);
  for (const auto& node : import.nodes) {
    if (node.recipe.opaque() && !node.dropped && !node.is_constant() && !node.no_float) {
      return {Outcome::NotCovered, node.op_type + ": " + node.reason};
    }
  }
  bool mapped = std::any_of(import.nodes.begin(), import.nodes.end(),
                            [](const auto& node) { return !node.recipe.opaque() || node.dropped; });
  if (!mapped) return {Outcome::NotCovered, "no operators"};
  if (!fs::exists(folder / "test_data_set_0")) return {Outcome::NotCovered, "it has no data"};
  for (int set = 0; fs::exists(folder / ("test_data_set_" + std::to_string(set))); ++set) {
    fs::path data = folder / ("test_data_set_" + std::to_string(set));
    std::map<std::string, Evaluator::TensorPtr> inputs;
    const auto& graph = model->proto().model.graph();
    std::set<std::string> weights;
    for (const auto& weight : graph.initializer()) weights.insert(weight.name());
    for (int i = 0; i < graph.input_size(); ++i) {
      if (weights.contains(graph.input(i).name())) continue;
      auto tensor = read_tensor(data / ("input_" + std::to_string(i) + ".pb"));
      if (tensor) inputs[graph.input(i).name()] = std::make_shared<algebra::Tensor>(std::move(*tensor));
    }
    for (NodeId id : bank.live(import.outputs)) {
      const Node& node = bank.node(id);
      const bool given_input = node.kind == Node::Kind::Input && inputs.contains(bank.value(node.outputs[0]).name);
      if (node.kind == Node::Kind::Opaque || (node.kind == Node::Kind::Input && !given_input))
        return {Outcome::NotCovered, "it computes on values that are not float tensors"};
    }
    Evaluator evaluator(bank, {}, [&](ValueId id) { return inputs.at(bank.value(id).name); });
    for (std::size_t i = 0; i < import.outputs.size(); ++i) {
      Element element = Element::Float32;
      auto expected = read_tensor(data / ("output_" + std::to_string(i) + ".pb"), &element);
      if (!expected) return {Outcome::NotCovered, "an expected output is no tensor of numbers"};
      double off = difference(*evaluator.value(import.outputs[i]), *expected);
      if (!(off <= (given ? 1e-4 : 1e-5) + allowed_for(element)))
        return {Outcome::Failed, "output " + std::to_string(i) + " differs by " + std::to_string(off)};
    }
  }
  return {Outcome::Passed, ""};
}

TEST_CASE("operators mean what ONNX's own test cases say", "[.][onnx]") {
  const bool given = std::getenv("RULEMILL_ONNX_CASES") != nullptr;
  if (!given && !fs::exists(test_data)) {
    std::cout << "SKIPPED: libonnx-testdata is not installed (scripts/install-debian.sh)\n";
    return;
  }
  algebra::Library library = algebra::Library::load(fs::path(RULEMILL_SOURCE_DIR) / "data/operators");
  std::vector<fs::path> folders;
  for (const fs::path& kind : case_folders()) {
    for (const auto& entry : fs::directory_iterator(kind)) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  int passed = 0, failed = 0;
  std::map<std::string, std::vector<std::string>> uncovered;
  for (const fs::path& folder : folders) {
    Outcome outcome = run_case(folder, library);
    std::string name = folder.filename();
    switch (outcome.kind) {
      case Outcome::Passed:
        ++passed;
        std::cout << "passed " << name << "\n";
        break;
      case Outcome::Failed:
        ++failed;
        std::cout << "FAILED " << name << ": " << outcome.reason << "\n";
        break;
      case Outcome::NotCovered:
        uncovered[outcome.reason].push_back(name);
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
  CHECK((given || passed >= debian_passes));
}

}  // namespace
}  // namespace rulemill::optimize
