#include "optimize/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "optimize/report_text.h"

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

/// The lines of a rule's text after its head, without their indentation: what becomes what, and when.
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

}  // namespace

std::string to_text(const Summary& summary) {
  std::string text = fmt::format("{}: opset {}, {} rules, cost for {} ({})\n", summary.model, summary.opset,
                                 summary.rules_loaded, summary.device, summary.device_description);
  if (!summary.cost_source.empty()) text += "costs measured: " + summary.cost_source + "\n";
  if (!summary.sizes.empty()) text += "open dimensions: " + sizes_text(summary) + "\n";
  text += "\n" + table_text(summary) + "\n" + verdict_text(summary) + "\n";
  if (summary.bodies > 0)
    text += fmt::format("graphs inside nodes: {} looked at, {} made cheaper\n", summary.bodies, summary.bodies_changed);
  if (summary.changed) {
    text += fmt::format("initializers: {} -> {}\n", bytes_text(static_cast<double>(summary.bytes_before)),
                        bytes_text(static_cast<double>(summary.bytes_after)));
    text += fmt::format("arithmetic, as far as definitions say it: {:.4g} -> {:.4g} million operations\n",
                        summary.operations_before / 1e6, summary.operations_after / 1e6);
  }
  text += search_text(summary) + "\n" + timing_text(summary);
  for (const Judgement& each : summary.judgements) text += "judge " + judgement_text(each, summary.acceptance) + "\n";
  if (!summary.without_judge.empty()) text += "onnxruntime did not judge: " + summary.without_judge + "\n";
  if (!summary.warning.empty()) text += "warning: " + summary.warning + "\n";
  if (!summary.output.empty()) {
    text += fmt::format("written: {}{}\n", summary.output, summary.changed ? "" : " (a copy of the model)");
  }
  if (!summary.fired.empty()) text += "\nrules that fired\n";
  for (const auto& fired : summary.fired) {
    text += fmt::format("{:>4} x {}\n", fired.times, fired_title(fired));
    for (const std::string& line : body_lines(fired.text)) text += "         " + line + "\n";
  }
  if (!summary.unknown.empty()) text += "\nkept as they are, since no definition says them\n";
  for (const auto& unknown : summary.unknown) {
    text += fmt::format("{:>4} x {}: {}\n", unknown.count, unknown.op_type, unknown.reason);
  }
  return text;
}

namespace {

const char* verdict_word(Judgement::Verdict verdict) {
  switch (verdict) {
    case Judgement::Verdict::Equal:
      return "equal";
    case Judgement::Verdict::Different:
      return "different";
    default:
      return "not verified";
  }
}

runtime::Json row_json(const CostRow& row) {
  return {{"nodes", row.count}, {"seconds", row.seconds}, {"weight_bytes", row.weight_bytes}};
}

runtime::Json timing_json(const Timing& timing) {
  runtime::Json json = {{"by", timing.by},
                        {"absent", timing.absent},
                        {"shapes", timing.shapes},
                        {"rounds", timing.rounds},
                        {"milliseconds", timing.milliseconds},
                        {"noise", timing.noise},
                        {"candidates", runtime::Json::array()}};
  for (const Timed& each : timing.candidates) {
    json["candidates"].push_back({{"failure", each.failure},
                                  {"milliseconds", each.milliseconds},
                                  {"ratio", each.ratio},
                                  {"quartiles", {each.lower, each.upper}},
                                  {"faster", each.faster}});
  }
  return json;
}

runtime::Json fired_json(const Summary& summary) {
  runtime::Json json = runtime::Json::array();
  for (const auto& fired : summary.fired) {
    json.push_back({{"rule", fired.id},
                    {"text", fired.text},
                    {"tier", fired.tier},
                    {"certified", fired.certified},
                    {"times", fired.times},
                    {"from_right_to_left", fired.reversed}});
  }
  return json;
}

runtime::Json search_json(const Summary& summary) {
  return {{"kind", summary.saturated ? "saturate" : "backtrack"},
          {"windows", summary.windows},
          {"e_graph_nodes", summary.e_nodes},
          {"extracted", summary.extracted},
          {"extracted_exactly", summary.exactly},
          {"rules", summary.rules_loaded},
          {"patterns", summary.patterns},
          {"alpha", summary.alpha},
          {"budget", summary.budget},
          {"graphs_made", summary.graphs_made},
          {"graphs_extended", summary.graphs_extended},
          {"exhausted", summary.exhausted},
          {"seconds", summary.search_time}};
}

runtime::Json verification_json(const Summary& summary) {
  runtime::Json judges = runtime::Json::array();
  for (const Judgement& each : summary.judgements) {
    judges.push_back({{"judge", each.judge},
                      {"verdict", verdict_word(each.verdict)},
                      {"worst", each.worst},
                      {"exact", each.exact},
                      {"not_exact", each.not_exact},
                      {"error_before", each.errors.before},
                      {"error_after", each.errors.after},
                      {"tensors", each.tensors},
                      {"elements", each.elements},
                      {"inputs", each.inputs},
                      {"reason", each.reason},
                      {"seconds", each.seconds}});
  }
  return {{"seeds", summary.verify_seeds},
          {"tolerance", summary.acceptance.tolerance},
          {"own_error", summary.acceptance.own_error},
          {"judges", std::move(judges)},
          {"without_onnxruntime", summary.without_judge},
          {"seconds", summary.verify_time}};
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
  json["changed"] = summary.changed;
  json["bodies"] = {{"looked_at", summary.bodies}, {"changed", summary.bodies_changed}};
  json["operators"] = runtime::Json::array();
  for (const auto& row : summary.rows) {
    json["operators"].push_back({{"name", row.name}, {"before", row_json(row.before)}, {"after", row_json(row.after)}});
  }
  json["cost_seconds"] = {
      {"before", summary.seconds_before}, {"after", summary.seconds_after}, {"cheapest_found", summary.seconds_found}};
  json["min_gain"] = summary.min_gain;
  json["sizes"] = runtime::Json::array();
  for (const auto& size : summary.sizes) {
    json["sizes"].push_back({{"name", size.name}, {"value", size.value}, {"assumed", size.assumed}});
  }
  json["initializer_bytes"] = {{"before", summary.bytes_before}, {"after", summary.bytes_after}};
  json["onnx_nodes"] = {{"before", summary.before.count}, {"after", summary.after.count}};
  json["fired"] = fired_json(summary);
  json["unknown"] = runtime::Json::array();
  for (const auto& unknown : summary.unknown) {
    json["unknown"].push_back({{"op_type", unknown.op_type}, {"reason", unknown.reason}, {"nodes", unknown.count}});
  }
  json["search"] = search_json(summary);
  json["verification"] = verification_json(summary);
  json["timing"] = timing_json(summary.timing);
  json["warning"] = summary.warning;
  json["import_seconds"] = summary.import_time;
  json["operations"] = {{"before", summary.operations_before}, {"after", summary.operations_after}};
  json["peak_bytes"] = summary.peak_bytes;
  return json;
}

}  // namespace rulemill::optimize
