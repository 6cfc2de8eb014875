#include "optimize/report.h"

#include <fmt/format.h>

#include <algorithm>

namespace rulemill::optimize {

namespace {

std::string time_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.2f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.1f} us", seconds * 1e6);
}

std::string bytes_text(double bytes) {
  if (bytes >= 1 << 20) return fmt::format("{:.1f} MiB", bytes / (1 << 20));
  if (bytes >= 1 << 10) return fmt::format("{:.1f} KiB", bytes / (1 << 10));
  return fmt::format("{:.0f} B", bytes);
}

/// Cells that read "nothing" as such.
std::vector<std::string> cells(const CostRow& row) {
  if (row.count == 0) return {"-", "-", "-"};
  return {fmt::format("{}", row.count), row.seconds > 0 ? time_text(row.seconds) : "fused",
          row.weight_bytes > 0 ? bytes_text(row.weight_bytes) : "-"};
}

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

std::string fired_title(const Summary::Fired& fired) {
  std::string title = fired.id;
  if (!fired.tier.empty()) title += ", " + fired.tier;
  title += fired.certified ? ", proved" : ", without a certificate";
  if (fired.reversed == fired.times) return title + ", from right to left";
  return fired.reversed > 0 ? title + fmt::format(", {} times from right to left", fired.reversed) : title;
}

/// What came of it, in a sentence.
std::string verdict_text(const Summary& summary) {
  if (!summary.warning.empty() && !summary.changed) return "no result passed: the model is left as it is";
  double found = summary.seconds_before / std::max(summary.seconds_found, 1e-30);
  if (!summary.fired.empty()) {
    return fmt::format("cost by the model: {} -> {}, {:.2f} times as fast", time_text(summary.seconds_before),
                       time_text(summary.seconds_after), found);
  }
  const bool nothing_timed = summary.timing.candidates.empty();
  std::string reason = "no rule makes it cheaper";
  if (!summary.changed && !nothing_timed) {
    reason = fmt::format("timed, nothing is faster by more than the noise of {:.1f}%", summary.timing.noise * 100);
  } else if (summary.seconds_found < summary.seconds_before * (1 - 1e-6) && nothing_timed) {
    reason = fmt::format(
        "the cheapest graph found is {:.3f} times as fast by the model, which is less than --min-gain {} asks for",
        found, summary.min_gain);
  } else if (!summary.exhausted) {
    reason = "nothing cheaper was found before the search came to its limits";
  }
  if (!summary.changed) return reason + ": the model is left as it is";
  return reason + ": only nodes that are not needed were removed";
}

/// How each candidate fared against the model; nothing if none was found.
std::string timing_text(const Summary& summary) {
  const Timing& timing = summary.timing;
  if (!timing.absent.empty()) return "not timed: " + timing.absent + "\n";
  if (timing.candidates.empty()) return "";
  std::string text = fmt::format("timed by {}, {} rounds in turns{}: the model {:.4g} ms\n", timing.by, timing.rounds,
                                 timing.shapes.empty() ? "" : ", " + timing.shapes, timing.milliseconds);
  for (const Timed& each : timing.candidates) {
    if (!each.failure.empty()) {
      text += "  a result: " + each.failure + "\n";
      continue;
    }
    text += fmt::format(
        "  a result {:.4g} ms, {:.3f} times as fast (quartiles {:.3f} and {:.3f}): {}\n", each.milliseconds, each.ratio,
        each.lower, each.upper,
        each.faster ? "faster" : fmt::format("not faster by more than the noise of {:.1f}%", timing.noise * 100));
  }
  return text;
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

std::string sizes_text(const Summary& summary) {
  std::string text;
  bool assumed = false;
  for (const auto& size : summary.sizes) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", size.name, size.value);
    assumed = assumed || size.assumed;
  }
  if (assumed) text += " (assumed; --input-shape says otherwise)";
  return text;
}

std::string judgement_text(const Judgement& judgement, const Acceptance& acceptance) {
  using Verdict = Judgement::Verdict;
  if (judgement.verdict == Verdict::Different) return judgement.judge + ": different: " + judgement.reason;
  if (judgement.verdict == Verdict::NotVerified) return judgement.judge + ": not verified: " + judgement.reason;
  const std::string equal = fmt::format("{}: equal on {} random inputs, largest difference {:.1e} of the largest value",
                                        judgement.judge, judgement.inputs, judgement.worst);
  const std::string time = time_text(judgement.seconds);
  if (judgement.exact.empty()) {
    return fmt::format("{}, {:.0e} allowed, since no float64 run was there to judge ({}), {}", equal,
                       acceptance.tolerance, judgement.not_exact, time);
  }
  return fmt::format(
      "{}; error against float64 ({}): the model {:.1e}, the result {:.1e}, {:g} times as much allowed, {}", equal,
      judgement.exact, judgement.errors.before, judgement.errors.after, acceptance.own_error, time);
}

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

std::string search_text(const Summary& summary) {
  if (summary.saturated) {
    return fmt::format("search: equality saturation of {} windows, {} e-graph nodes, {}, {}", summary.windows,
                       summary.e_nodes, summary.exhausted ? "all there are" : "limits reached",
                       time_text(summary.search_time));
  }
  return fmt::format("search: {} graphs made, {} extended, {}, alpha {}, {}", summary.graphs_made,
                     summary.graphs_extended, summary.exhausted ? "all there are" : "budget exhausted", summary.alpha,
                     time_text(summary.search_time));
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

constexpr const char* page_head = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>rulemill optimize</title><style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 72em; padding: 0 1em; color: #222; }
table { border-collapse: collapse; } th, td { padding: .15em .8em; text-align: right; } th:first-child { text-align: left; }
thead th, tr:last-child { border-top: 1px solid #999; } pre { background: #f4f4f4; padding: .6em 1em; overflow-x: auto; }
.graphs { display: flex; gap: 2em; } .graph { flex: 1; overflow: auto; max-height: 80vh; border: 1px solid #ddd; }
svg { font: 11px system-ui, sans-serif; } svg path { fill: none; stroke: #999; } svg text { text-anchor: middle; }
svg rect { fill: #eef2f7; stroke: #7a8aa0; } .gone .changed rect { fill: #fbe3e0; stroke: #c0564a; }
.new .changed rect { fill: #dff3e1; stroke: #3f8f4a; }
</style></head><body>
)";

}  // namespace

std::string to_html(const Summary& summary) {
  auto cell = [](const std::string& text) { return "<td>" + html_escaped(text) + "</td>"; };
  auto row = [&](const std::string& name, const CostRow& before, const CostRow& after) {
    std::string text = "<tr><th>" + html_escaped(name) + "</th>";
    for (const auto& each : cells(before)) text += cell(each);
    for (const auto& each : cells(after)) text += cell(each);
    return text + "</tr>\n";
  };
  std::string page = page_head;
  page += "<h1>" + html_escaped(summary.model) + "</h1>\n<p>" + html_escaped(verdict_text(summary)) + "</p>\n";
  page += fmt::format("<p>Opset {}, {} rules, cost for {}.{} Initializers: {} &rarr; {}.", summary.opset,
                      summary.rules_loaded, html_escaped(summary.device_description),
                      summary.sizes.empty() ? "" : " Open dimensions: " + html_escaped(sizes_text(summary)) + ".",
                      bytes_text(static_cast<double>(summary.bytes_before)),
                      bytes_text(static_cast<double>(summary.bytes_after)));
  page += " " + html_escaped(timing_text(summary));
  for (const Judgement& each : summary.judgements) {
    page += " Judge " + html_escaped(judgement_text(each, summary.acceptance)) + ".";
  }
  if (!summary.warning.empty()) page += " Warning: " + html_escaped(summary.warning) + ".";
  page +=
      "</p>\n<table><thead><tr><th></th><th colspan='3'>before</th><th "
      "colspan='3'>after</th></tr><tr><th>operator</th>";
  for (int side = 0; side < 2; ++side) page += "<th>nodes</th><th>cost</th><th>weights</th>";
  page += "</tr></thead>\n";
  for (const auto& each : summary.rows) page += row(each.name, each.before, each.after);
  page += row("total", summary.before, summary.after) + "</table>\n<h2>Graph before and after</h2>\n";
  page += "<div class='graphs'><div class='graph gone'>" + to_svg(summary.picture_before);
  page += "</div><div class='graph new'>" + to_svg(summary.picture_after) + "</div></div>\n";
  if (!summary.fired.empty()) page += "<h2>Rules that fired</h2>\n";
  for (const auto& fired : summary.fired) {
    page += fmt::format("<p>{} &times; {}</p>\n<pre>{}</pre>\n", fired.times, html_escaped(fired_title(fired)),
                        html_escaped(fired.text));
  }
  if (!summary.unknown.empty()) page += "<h2>Kept as they are, since no definition says them</h2>\n<ul>\n";
  for (const auto& unknown : summary.unknown) {
    page += fmt::format("<li>{} &times; {}: {}</li>\n", unknown.count, html_escaped(unknown.op_type),
                        html_escaped(unknown.reason));
  }
  if (!summary.unknown.empty()) page += "</ul>\n";
  return page + "</body></html>\n";
}

namespace {

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
