// Conversion between the summary and its attributes in the manifest.
#include "dedup/join/join.h"
#include "runtime/files/manifest.h"
#include "runtime/text/error.h"

namespace rulemill::dedup {
namespace {

constexpr runtime::CountNames<Funnel> counts = {{"terms", &Funnel::terms},
                                                {"classes", &Funnel::classes},
                                                {"pairs", &Funnel::pairs},
                                                {"renamed", &Funnel::unique_up_to_renaming},
                                                {"shapes", &Funnel::unique_up_to_shape},
                                                {"generalized", &Funnel::generalized},
                                                {"multi_pairs", &Funnel::multi_output_pairs},
                                                {"multi_generalized", &Funnel::multi_output_generalized},
                                                {"candidates", &Funnel::candidates}};

std::string level_name(std::size_t level) { return "new_values_" + std::to_string(level); }

}  // namespace

runtime::Attributes to_attributes(const Summary& summary) {
  runtime::Attributes figures = runtime::to_attributes(summary.funnel, counts);
  figures["expected_false"] = summary.expected_false_candidates;
  figures["seconds"] = summary.seconds;
  for (std::size_t level = 0; level < summary.new_classes.size(); ++level)
    figures[level_name(level)] = summary.new_classes[level];
  return figures;
}

Summary summary_of(const runtime::Attributes& figures) {
  Summary summary;
  summary.already_done = true;
  runtime::read_counts(summary.funnel, counts, figures, join_stage);
  const auto expected = figures.find("expected_false");
  const double* value = expected == figures.end() ? nullptr : std::get_if<double>(&expected->second);
  if (value == nullptr) throw runtime::InputError("manifest.json", "the figures of stage join lack expected_false");
  summary.expected_false_candidates = *value;
  for (std::size_t level = 0; figures.contains(level_name(level)); ++level)
    summary.new_classes.push_back(runtime::count_in(figures, join_stage, level_name(level)));
  return summary;
}

}  // namespace rulemill::dedup
