// Conversion between the summary and its attributes in the manifest.
#include <array>
#include <utility>

#include "dedup/join/join.h"
#include "runtime/text/error.h"

namespace rulemill::dedup {
namespace {

constexpr std::array<std::pair<const char*, std::uint64_t Funnel::*>, 9> counts{{
    {"terms", &Funnel::terms},
    {"classes", &Funnel::classes},
    {"pairs", &Funnel::pairs},
    {"renamed", &Funnel::unique_up_to_renaming},
    {"shapes", &Funnel::unique_up_to_shape},
    {"generalized", &Funnel::generalized},
    {"multi_pairs", &Funnel::multi_output_pairs},
    {"multi_generalized", &Funnel::multi_output_generalized},
    {"candidates", &Funnel::candidates},
}};

std::string level_name(std::size_t level) { return "new_values_" + std::to_string(level); }

template <class T>
T figure(const runtime::Attributes& figures, const std::string& name) {
  const auto found = figures.find(name);
  const T* value = found == figures.end() ? nullptr : std::get_if<T>(&found->second);
  if (value == nullptr) throw runtime::InputError("manifest.json", "the figures of stage join lack " + name);
  return *value;
}

}  // namespace

runtime::Attributes to_attributes(const Summary& summary) {
  runtime::Attributes figures{{"expected_false", summary.expected_false_candidates}, {"seconds", summary.seconds}};
  for (const auto& [name, count] : counts) figures[name] = summary.funnel.*count;
  for (std::size_t level = 0; level < summary.new_classes.size(); ++level) {
    figures[level_name(level)] = summary.new_classes[level];
  }
  return figures;
}

Summary summary_of(const runtime::Attributes& figures) {
  Summary summary;
  summary.already_done = true;
  for (const auto& [name, count] : counts) summary.funnel.*count = figure<std::uint64_t>(figures, name);
  summary.expected_false_candidates = figure<double>(figures, "expected_false");
  for (std::size_t level = 0; figures.contains(level_name(level)); ++level) {
    summary.new_classes.push_back(figure<std::uint64_t>(figures, level_name(level)));
  }
  return summary;
}

}  // namespace rulemill::dedup
