// The report as data of an HTML page: figures, drawings of the changes, an outline of the model, the fired rules.
#include <fmt/format.h>

#include <algorithm>

#include "optimize/report/changes.h"
#include "optimize/report/report.h"
#include "optimize/report/report_text.h"
#include "runtime/text/join_text.h"
#include "runtime/text/quantity.h"

namespace rulemill::optimize {
namespace {

using runtime::format_bytes;
using runtime::format_seconds;
using runtime::Json;

const CandidateTimes* selected_times(const BenchmarkResult& benchmark) {
  const auto found = std::ranges::find_if(benchmark.candidates, &CandidateTimes::selected);
  return found == benchmark.candidates.end() || found->milliseconds == 0 ? nullptr : &*found;
}

/// The measured speedup in a few words, and how it was measured; without one, the result, and why nothing was measured.
Json headline(const Summary& summary) {
  const BenchmarkResult& benchmark = summary.benchmark;
  if (const CandidateTimes* times = summary.changed ? selected_times(benchmark) : nullptr) {
    return {{"text", fmt::format("{:.2f} times as fast, measured", times->speedup)},
            {"detail",
             fmt::format("{:.4g} → {:.4g} ms in {}; median of {} rounds, quartiles {:.2f} and {:.2f}{}",
                         times->model_milliseconds, times->milliseconds, timing_place(benchmark), times->rounds,
                         times->lower, times->upper, summary.cleaned ? "; with the " + cleaning_text(summary) : "")}};
  }
  const std::string skipped = benchmark.skipped_reason.empty() ? "" : "not timed: " + benchmark.skipped_reason;
  if (summary.changed && !summary.fired.empty()) return {{"text", "Optimized, not measured"}, {"detail", skipped}};
  const std::string cleaning = summary.cleaned ? cleaning_text(summary) + "; " : "";
  return {{"text", cleaning + outcome_text(summary)}, {"detail", skipped}};
}

std::string estimate_text(const Summary& summary) {
  const std::string source =
      summary.cost_source.empty() ? summary.device_description : "measured times of nodes, " + summary.cost_source;
  return fmt::format("The cost model estimates {} → {}, {:.2f} times as fast ({}). An estimate, not a measurement.",
                     format_seconds(summary.seconds_before), format_seconds(summary.seconds_after),
                     summary.seconds_before / std::max(summary.seconds_after, 1e-30), source);
}

/// Rows of name and value, without rows that have no value.
Json figures(const Summary& summary) {
  Json rows = Json::array();
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) rows.push_back({name, value});
  };
  add("device", summary.device_description);
  add("costs measured", summary.cost_source);
  add("nodes", fmt::format("{} → {}", summary.before.count, summary.after.count));
  add("arithmetic, million operations",
      fmt::format("{:.4g} → {:.4g}", summary.operations_before / 1e6, summary.operations_after / 1e6));
  add("initializers", fmt::format("{} → {}", format_bytes(summary.bytes_before), format_bytes(summary.bytes_after)));
  if (summary.subgraphs > 0)
    add("subgraphs", fmt::format("{} searched, {} changed", summary.subgraphs, summary.subgraphs_changed));
  add("dynamic dimensions", sizes_text(summary));
  add("rules, opset", fmt::format("{}, {}", summary.rules_loaded, summary.opset));
  add("search", search_text(summary).substr(sizeof("search: ") - 1));
  add("time", fmt::format("import {}, search {}, benchmark and verification {}", format_seconds(summary.import_seconds),
                          format_seconds(summary.search_seconds), format_seconds(summary.verification_seconds)));
  add("memory of this process", format_bytes(summary.peak_bytes));
  return rows;
}

Json verification(const Summary& summary) {
  Json rows = Json::array();
  for (const VerificationResult& each : summary.verification) {
    const std::string result = verification_text(each, summary);
    rows.push_back({each.verifier, result.substr(each.verifier.size() + 2)});
  }
  if (!summary.onnxruntime_skipped_reason.empty())
    rows.push_back({"onnxruntime", "skipped: " + summary.onnxruntime_skipped_reason});
  return rows;
}

Json operators(const Summary& summary) {
  Json rows = Json::array();
  const auto add = [&](const std::string& name, const CostRow& before, const CostRow& after) {
    Json row = Json::array({name});
    for (const CostRow* side : {&before, &after}) {
      for (const std::string& cell : cells(*side)) row.push_back(cell);
    }
    rows.push_back(std::move(row));
  };
  for (const auto& each : summary.rows) add(each.name, each.before, each.after);
  add("total", summary.before, summary.after);
  return rows;
}

/// Returns the names of the boxes with the shapes of their results.
std::string names_of(const Drawing& drawing, const std::vector<std::uint32_t>& boxes) {
  const auto name_of = [&](std::uint32_t number) {
    const Drawing::Box& box = drawing.boxes[number];
    return box.shape.empty() ? box.name : fmt::format("{} ({})", box.name, box.shape);
  };
  return boxes.empty() ? "nothing" : runtime::join_text(boxes, name_of);
}

/// The first change of a group as two drawings, and the nodes of all of them.
Json change(const ChangeGroup& group, const Summary& summary) {
  Json nodes = Json::array();
  for (const Change& each : group.changes)
    nodes.push_back({names_of(summary.drawing_before, each.before), names_of(summary.drawing_after, each.after)});
  return {{"times", group.changes.size()},
          {"before", to_json(group.before)},
          {"after", to_json(group.after)},
          {"nodes", std::move(nodes)}};
}

Json outline(const Summary& summary, const std::vector<ChangeGroup>& groups) {
  Json stretches = Json::array();
  for (const Stretch& stretch : outline_of(summary.drawing_before, groups)) {
    Json items = Json::array();
    for (const Stretch::Item& item : stretch.items) items.push_back({{"text", item.text}, {"group", item.group}});
    stretches.push_back({{"times", stretch.times}, {"items", std::move(items)}});
  }
  return stretches;
}

Json rules(const Summary& summary) {
  Json list = Json::array();
  for (const auto& fired : summary.fired) {
    const std::string saved =
        fired.saved > 0 ? fmt::format(", saves {} by the model", format_seconds(fired.saved)) : "";
    list.push_back({{"times", fired.times},
                    {"title", fired_title(fired)},
                    {"proof", fmt::format("proved {}{}", fired.proof, saved)},
                    {"text", fired.text},
                    {"certificate", fired.certificate}});
  }
  return list;
}

}  // namespace

Json page_data(const Summary& summary) {
  const std::vector<ChangeGroup> groups = changes_between(summary.drawing_before, summary.drawing_after);
  Json changes = Json::array(), opaque = Json::array();
  for (const ChangeGroup& group : groups) changes.push_back(change(group, summary));
  for (const auto& each : summary.opaque) opaque.push_back({each.count, each.op_type, each.reason});
  return {{"model", summary.model},
          {"headline", headline(summary)},
          {"estimate", estimate_text(summary)},
          {"warning", summary.warning},
          {"figures", figures(summary)},
          {"times", benchmark_text(summary)},
          {"verification", verification(summary)},
          {"operators", operators(summary)},
          {"changes", std::move(changes)},
          {"outline", outline(summary, groups)},
          {"rules", rules(summary)},
          {"opaque", std::move(opaque)}};
}

}  // namespace rulemill::optimize
