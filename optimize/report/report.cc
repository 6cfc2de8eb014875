#include "optimize/report/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "optimize/report/report_text.h"
#include "optimize/verify/sequential_test.h"
#include "runtime/text/quantity.h"

namespace rulemill::optimize {
namespace {

std::string table_text(const Summary& summary) {
  std::size_t width = 8;
  for (const auto& row : summary.rows) width = std::max(width, row.name.size());
  auto line = [&](const std::string& name, const std::vector<std::string>& a, const std::vector<std::string>& b) {
    return fmt::format("{:<{}}  {:>6} {:>9} {:>10}    {:>6} {:>9} {:>10}\n", name, width, a[0], a[1], a[2], b[0], b[1],
                       b[2]);
  };
  const std::string rule = std::string(width, '-') + "  " + std::string(27, '-') + "    " + std::string(27, '-') + "\n";
  const std::vector<std::string> header{"nodes", "cost", "weights"};
  std::string text = fmt::format("{:<{}}  {:<27}    {:<27}\n", "", width, "before", "after");
  while (text.size() > 1 && text[text.size() - 2] == ' ') text.erase(text.size() - 2, 1);
  text += line("operator", header, header) + rule;
  for (const auto& row : summary.rows) text += line(row.name, cells(row.before), cells(row.after));
  return text + rule + line("total", cells(summary.before), cells(summary.after));
}

/// Returns the lines of a rule's text after the first, without indentation.
std::vector<std::string> body_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = text.find('\n'); begin < text.size();) {
    std::size_t first = std::min(text.find_first_not_of(" \n", begin), text.size());
    std::size_t end = std::min(text.find('\n', first), text.size());
    if (first < end) lines.push_back(text.substr(first, end - first));
    begin = end;
  }
  return lines;
}

std::string cleaning_lines(const Summary& summary) {
  const std::string text = cleaning_text(summary) + "\n";
  return summary.bit_comparison ? text + bit_comparison_text(*summary.bit_comparison) + "\n" : text;
}

std::string written_text(const Summary& summary) {
  if (summary.output.empty()) return "";
  const char* note = summary.changed   ? ""
                     : summary.cleaned ? " (the model after the clean-up)"
                                       : " (a copy of the model)";
  return fmt::format("written: {}{}\n", summary.output, note);
}

/// Of a run that does nothing but clean.
std::string only_clean_text(const Summary& summary) {
  std::string text =
      fmt::format("{}: opset {}\n\n{:<24} {:>6} {:>6}\n", summary.model, summary.opset, "operator", "before", "after");
  for (const auto& row : summary.rows)
    text += fmt::format("{:<24} {:>6} {:>6}\n", row.name, row.before.count, row.after.count);
  text += "\n" + cleaning_lines(summary);
  text += fmt::format("initializers: {} -> {}\n", runtime::format_bytes(summary.bytes_before),
                      runtime::format_bytes(summary.bytes_after));
  if (!summary.onnxruntime_skipped_reason.empty())
    text += "outputs not compared in onnxruntime: " + summary.onnxruntime_skipped_reason + "\n";
  return text + written_text(summary);
}

}  // namespace

std::string to_text(const Summary& summary) {
  if (summary.only_clean) return only_clean_text(summary);
  std::string text = fmt::format("{}: opset {}, {} rules, cost for {} ({})\n", summary.model, summary.opset,
                                 summary.rules_loaded, summary.device, summary.device_description);
  if (!summary.cost_source.empty()) text += "costs measured: " + summary.cost_source + "\n";
  if (!summary.sizes.empty()) text += "dynamic dimensions: " + sizes_text(summary) + "\n";
  text += "\n" + table_text(summary) + "\n" + cleaning_lines(summary) + benchmark_text(summary);
  text += outcome_text(summary) + "\n";
  if (summary.subgraphs > 0)
    text += fmt::format("subgraphs: {} searched, {} changed\n", summary.subgraphs, summary.subgraphs_changed);
  if (summary.changed) {
    text += fmt::format("initializers: {} -> {}\n", runtime::format_bytes(summary.bytes_before),
                        runtime::format_bytes(summary.bytes_after));
    text += fmt::format("arithmetic without opaque nodes: {:.4g} -> {:.4g} million operations\n",
                        summary.operations_before / 1e6, summary.operations_after / 1e6);
  }
  text += search_text(summary) + "\n";
  for (const VerificationResult& each : summary.verification)
    text += "verified by " + verification_text(each, summary) + "\n";
  if (!summary.onnxruntime_skipped_reason.empty())
    text += "not verified by onnxruntime: " + summary.onnxruntime_skipped_reason + "\n";
  if (!summary.warning.empty()) text += "warning: " + summary.warning + "\n";
  text += written_text(summary);
  if (!summary.fired.empty()) text += "\nrules that fired\n";
  for (const auto& fired : summary.fired) {
    text += fmt::format("{:>4} x {}\n", fired.times, fired_title(fired));
    for (const std::string& line : body_lines(fired.text)) text += "         " + line + "\n";
  }
  if (!summary.opaque.empty()) text += "\nopaque nodes, which no definition matches\n";
  for (const auto& opaque : summary.opaque)
    text += fmt::format("{:>4} x {}: {}\n", opaque.count, opaque.op_type, opaque.reason);
  return text;
}

namespace {

const char* verdict_text(VerificationResult::Verdict verdict, bool widens) {
  switch (verdict) {
    case VerificationResult::Verdict::Equal:
      return widens ? "equal where defined" : "equal";
    case VerificationResult::Verdict::Different:
      return "different";
    case VerificationResult::Verdict::NotLoaded:
      return "not loaded";
    default:
      return "not verified";
  }
}

runtime::Json bit_comparison_json(const Summary& summary) {
  VerificationResult none;
  none.verdict = VerificationResult::Verdict::NotVerified;
  const VerificationResult& result = summary.bit_comparison ? *summary.bit_comparison : none;
  return {{"verifier", result.verifier}, {"verdict", verdict_text(result.verdict, false)},
          {"inputs", result.inputs},     {"given_inputs", result.given_inputs},
          {"reason", result.reason},     {"seconds", result.seconds}};
}

runtime::Json row_json(const CostRow& row) {
  return {{"nodes", row.count}, {"seconds", row.seconds}, {"weight_bytes", row.weight_bytes}};
}

runtime::Json benchmark_json(const BenchmarkResult& benchmark) {
  runtime::Json json = {{"runner", benchmark.runner},
                        {"skipped_reason", benchmark.skipped_reason},
                        {"shapes", benchmark.shapes},
                        {"rounds", benchmark.rounds},
                        {"milliseconds", benchmark.milliseconds},
                        {"min_ratio", min_speedup},
                        {"max_false_gain_rate", max_false_gain_rate},
                        {"candidates", runtime::Json::array()}};
  for (const CandidateTimes& each : benchmark.candidates) {
    json["candidates"].push_back({{"failure", each.failure},
                                  {"reason", each.reason},
                                  {"model_milliseconds", each.model_milliseconds},
                                  {"milliseconds", each.milliseconds},
                                  {"ratio", each.speedup},
                                  {"quartiles", {each.lower, each.upper}},
                                  {"rounds", each.rounds},
                                  {"faster", each.faster},
                                  {"selected", each.selected}});
  }
  return json;
}

runtime::Json fired_json(const Summary& summary) {
  runtime::Json json = runtime::Json::array();
  for (const auto& fired : summary.fired)
    json.push_back({{"rule", fired.id},
                    {"text", fired.text},
                    {"tier", fired.tier},
                    {"certified", fired.certified},
                    {"widens", fired.widens},
                    {"times", fired.times},
                    {"reversed", fired.reversed}});
  return json;
}

runtime::Json search_json(const Summary& summary) {
  return {{"kind", summary.saturated ? "saturate" : "backtrack"},
          {"windows", summary.windows},
          {"e_graph_nodes", summary.egraph_nodes},
          {"extracted", summary.extractions},
          {"extracted_exactly", summary.ilp_extractions},
          {"rules", summary.rules_loaded},
          {"patterns", summary.patterns},
          {"alpha", summary.alpha},
          {"budget", summary.budget},
          {"graphs_made", summary.graphs_created},
          {"graphs_extended", summary.graphs_extended},
          {"exhausted", summary.exhausted},
          {"limits_reached",
           {{"iterations", summary.limits_reached.iterations},
            {"nodes", summary.limits_reached.nodes},
            {"matches", summary.limits_reached.matches}}},
          {"seconds", summary.search_seconds}};
}

runtime::Json verification_json(const Summary& summary) {
  runtime::Json verifiers = runtime::Json::array();
  for (const VerificationResult& each : summary.verification) {
    verifiers.push_back({{"verifier", each.verifier},
                         {"verdict", verdict_text(each.verdict, summary.widens())},
                         {"max_relative_difference", each.max_relative_difference},
                         {"reference", each.reference},
                         {"no_reference_reason", each.no_reference_reason},
                         {"error_before", each.errors.before},
                         {"error_after", each.errors.after},
                         {"error_growth", each.error_growth},
                         {"range_growth", each.range_growth},
                         {"tensors", each.tensors},
                         {"elements", each.elements},
                         {"inputs", each.inputs},
                         {"given_inputs", each.given_inputs},
                         {"choices", each.choices},
                         {"reason", each.reason},
                         {"seconds", each.seconds}});
  }
  return {{"seeds", summary.verification_options.inputs},
          {"tolerance", summary.verification_options.accuracy.tolerance},
          {"max_error_ratio", summary.verification_options.accuracy.max_error_ratio},
          {"verifiers", std::move(verifiers)},
          {"onnxruntime_skipped_reason", summary.onnxruntime_skipped_reason},
          {"seconds", summary.verification_seconds}};
}

}  // namespace

runtime::Json to_json(const Summary& summary) {
  runtime::Json json;
  json["model"] = summary.model;
  json["output"] = summary.output;
  json["rules"] = summary.rules;
  json["device"] = summary.device;
  json["cost_source"] = summary.cost_source;
  json["opset"] = summary.opset;
  json["changed"] = summary.changed || summary.cleaned;
  json["clean_up"] = {{"changed", summary.cleaned},
                      {"nodes_before", summary.nodes_before_cleaning},
                      {"nodes_after", summary.nodes_after_cleaning}};
  json["clean_up"]["comparison"] = bit_comparison_json(summary);
  json["subgraphs"] = {{"searched", summary.subgraphs}, {"changed", summary.subgraphs_changed}};
  json["operators"] = runtime::Json::array();
  for (const auto& row : summary.rows)
    json["operators"].push_back({{"name", row.name}, {"before", row_json(row.before)}, {"after", row_json(row.after)}});
  json["cost_seconds"] = {
      {"before", summary.seconds_before}, {"after", summary.seconds_after}, {"cheapest_found", summary.seconds_found}};
  json["min_gain"] = summary.min_gain;
  json["sizes"] = runtime::Json::array();
  for (const auto& size : summary.sizes)
    json["sizes"].push_back({{"name", size.name}, {"value", size.value}, {"assumed", size.assumed}});
  json["initializer_bytes"] = {{"before", summary.bytes_before}, {"after", summary.bytes_after}};
  json["onnx_nodes"] = {{"before", summary.before.count}, {"after", summary.after.count}};
  json["fired"] = fired_json(summary);
  json["opaque"] = runtime::Json::array();
  for (const auto& opaque : summary.opaque)
    json["opaque"].push_back({{"op_type", opaque.op_type}, {"reason", opaque.reason}, {"nodes", opaque.count}});
  json["search"] = search_json(summary);
  json["verification"] = verification_json(summary);
  json["timing"] = benchmark_json(summary.benchmark);
  json["warning"] = summary.warning;
  json["import_seconds"] = summary.import_seconds;
  json["rule_check_seconds"] = summary.rule_check_seconds;
  json["operations"] = {{"before", summary.operations_before}, {"after", summary.operations_after}};
  json["peak_bytes"] = summary.peak_bytes;
  return json;
}

}  // namespace rulemill::optimize
