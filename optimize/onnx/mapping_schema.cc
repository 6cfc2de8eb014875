#include "optimize/onnx/mapping_schema.h"

#include <algorithm>

namespace rulemill::optimize {

namespace {

/// Returns the versions that hold in an opset of the mapping. Other domains than ONNX's own have one version.
std::vector<const OperatorSchema*> versions_of(const algebra::GenericOnnxMapping& mapping, const KnownSchemas& known) {
  std::vector<const OperatorSchema*> found;
  for (std::size_t i = 0; i < known.versions.size(); ++i) {
    const bool is_replaced = i + 1 < known.versions.size() && known.versions[i + 1].since <= mapping.since;
    if (!is_replaced && known.versions[i].since < mapping.until) found.push_back(&known.versions[i]);
  }
  return found;
}

}  // namespace

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

}  // namespace rulemill::optimize
