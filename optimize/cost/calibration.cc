#include "optimize/cost/calibration.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "optimize/cost/cost_source.h"
#include "runtime/files/atomic_file.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

/// Reads the values of one file, and reports a bad one with its line.
class CalibrationReader {
 public:
  CalibrationReader(const std::string& text, const std::string& file) : file_(file) {
    try {
      root_ = toml::parse(text, file);
    } catch (const toml::parse_error& error) {
      fail(error.source().begin.line, std::string(error.description()));
    }
  }

  std::string text(const char* key) const {
    const toml::node& node = required(key);
    if (!node.is_string()) fail(node.source().begin.line, fmt::format("expected '{}' to be a text", key));
    return **node.as_string();
  }

  double number(const char* key) const { return number_of(required(key), key, 1e-9); }

  bool has(const char* key) const { return root_.contains(key); }

  std::pair<double, double> pair(const char* key) const { return pair_of(required(key), key, 1); }

  std::vector<std::string> texts(const char* key) const {
    const toml::node& node = required(key);
    if (!node.is_array()) fail(node.source().begin.line, fmt::format("expected '{}' to be a list of texts", key));
    std::vector<std::string> found;
    for (const toml::node& each : *node.as_array()) {
      if (!each.is_string()) fail(each.source().begin.line, fmt::format("expected a text in '{}'", key));
      found.push_back(**each.as_string());
    }
    return found;
  }

  std::map<std::string, std::pair<double, double>> pairs(const char* key) const {
    const toml::node& node = required(key);
    if (!node.is_table()) fail(node.source().begin.line, fmt::format("expected '[{}]'", key));
    std::map<std::string, std::pair<double, double>> found;
    for (const auto& [name, value] : *node.as_table())
      found.emplace(std::string(name.str()), pair_of(value, std::string(name.str()), 0));
    return found;
  }

  [[noreturn]] void fail(std::size_t line, const std::string& problem) const {
    throw runtime::InputError(fmt::format("{}:{}", file_, line), problem);
  }

 private:
  const toml::node& required(const char* key) const {
    const toml::node* node = root_.get(key);
    if (node == nullptr) fail(1, fmt::format("expected the key '{}'", key));
    return *node;
  }

  double number_of(const toml::node& node, const std::string& name, double least) const {
    const std::optional<double> value = node.value<double>();
    if (!value || !std::isfinite(*value) || *value < least)
      fail(node.source().begin.line, fmt::format("expected '{}' to be a number of at least {}", name, least));
    return *value;
  }

  std::pair<double, double> pair_of(const toml::node& node, const std::string& name, double least) const {
    const toml::array* values = node.as_array();
    if (values == nullptr || values->size() != 2)
      fail(node.source().begin.line, fmt::format("expected '{}' to be two numbers, of small and large tensors", name));
    return {number_of(*values->get(0), name, least), number_of(*values->get(1), name, least)};
  }

  std::string file_;
  toml::table root_;
};

}  // namespace

Calibration Calibration::load(const std::filesystem::path& file) {
  return parse(runtime::read_file(file), file.string());
}

Calibration Calibration::parse(const std::string& text, const std::string& file) {
  const CalibrationReader reader(text, file);
  Calibration result;
  result.runtime_ = reader.text("runtime");
  result.node_seconds_ = reader.number("node_nanoseconds") * 1e-9;
  result.product_flops_ = reader.number("product_gflops") * 1e9;
  if (reader.has("window_gflops")) result.window_flops_ = reader.number("window_gflops") * 1e9;
  if (reader.has("scalar_gflops")) result.scalar_flops_ = reader.number("scalar_gflops") * 1e9;
  std::tie(result.small_elements_, result.large_elements_) = reader.pair("elements");
  if (result.small_elements_ >= result.large_elements_) reader.fail(1, "expected 'elements' to be in ascending order");
  const auto further = reader.pairs("nanoseconds_per_further_element");
  const std::vector<std::string> by_result = reader.texts("by_result");
  for (const auto& [name, rates] : reader.pairs("nanoseconds_per_element")) {
    Entry entry{{rates.first, rates.second}, {}, std::ranges::find(by_result, name) != by_result.end()};
    if (const auto found = further.find(name); found != further.end())
      entry.further = {found->second.first, found->second.second};
    result.entries_.emplace(name, entry);
  }
  return result;
}

const Calibration::Entry* Calibration::find(const algebra::OperatorInstance& instance) const {
  if (const auto found = entries_.find(instance.operator_name); found != entries_.end()) return &found->second;
  for (const auto& mapping : instance.onnx) {
    if (const auto found = entries_.find(mapping.op_type); found != entries_.end()) return &found->second;
  }
  return nullptr;
}

double Calibration::at(const Rates& rates, double elements) const {
  const double position = std::log(elements / small_elements_) / std::log(large_elements_ / small_elements_);
  return (rates.small + (rates.large - rates.small) * std::clamp(position, 0.0, 1.0)) * 1e-9;
}

std::optional<double> Calibration::seconds(const algebra::OperatorInstance& instance,
                                           std::span<const std::vector<std::int64_t>> inputs,
                                           const std::vector<bool>& constant, double output_elements) const {
  const Entry* entry = find(instance);
  if (entry == nullptr) return std::nullopt;
  double elements = output_elements, full_inputs = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const double count = count_elements(inputs[i]);
    if (count >= output_elements) ++full_inputs;
    if (!entry->by_result && !constant.at(i)) elements = std::max(elements, count);
  }
  const double further = std::max(0.0, full_inputs - 1);
  return elements * (at(entry->own, elements) + further * at(entry->further, elements));
}

std::optional<double> Calibration::seconds(const std::string& name, double elements) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? std::nullopt : std::optional(elements * at(found->second.own, elements));
}

double Calibration::pass_seconds(double bytes) const {
  constexpr double bytes_per_element = 2 * sizeof(float);
  return seconds("Relu", bytes / bytes_per_element).value_or(0);
}

std::filesystem::path calibration_file(const std::filesystem::path& folder, const std::string& runtime) {
  utsname machine{};
  if (uname(&machine) != 0) return {};
  std::filesystem::path file = folder / fmt::format("{}-{}.toml", runtime, machine.machine);
  if (!std::filesystem::exists(file)) file = folder / fmt::format("onnxruntime-{}.toml", machine.machine);
  return std::filesystem::exists(file) ? file : std::filesystem::path();
}

}  // namespace rulemill::optimize
