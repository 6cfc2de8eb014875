// The report as a self-contained HTML page: figures, drawings of the changes, an outline of the model, the fired rules.
#include <fmt/format.h>

#include <algorithm>

#include "optimize/report/changes.h"
#include "optimize/report/report_text.h"
#include "runtime/text/quantity.h"

namespace rulemill::optimize {

namespace {

constexpr const char* page_head = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>rulemill optimize</title><style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 78em; padding: 0 1em; color: #1c2330; }
h1 { font-size: 24px; margin: 0; overflow-wrap: anywhere; } h2 { font-size: 18px; margin: 1.8em 0 .4em; }
.verdict { font-size: 17px; margin: .2em 0 1em; } .warning { background: #fbf0d9; padding: .5em 1em; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .4em 0; }
th, td { padding: .15em .9em .15em 0; text-align: right; vertical-align: top; } th { font-weight: 500; color: #667085; }
th:first-child { text-align: left; } .text td, .text th { text-align: left; } thead th, .total > * { border-top: 1px solid #bbb; }
pre { background: #f4f6f9; padding: .6em 1em; overflow-x: auto; margin: .3em 0; } summary { cursor: pointer; color: #2f5fd0; }
.graphs { display: flex; gap: 1.2em; flex-wrap: wrap; } .graph { flex: 1 1 0; min-width: 20em; overflow: auto; max-height: 90vh;
  border: 1px solid #dfe3ea; border-radius: 8px; } .graph h3 { font-size: 13px; margin: .5em .9em 0; color: #667085; }
.outline { line-height: 2; } .outline li { margin: .2em 0; } .stay { color: #667085; } .times { font-weight: 700; }
a.kind { background: #dff3e1; border: 1px solid #3f8f4a; border-radius: 4px; padding: 0 .4em; color: inherit; text-decoration: none; }
svg { font: 12px system-ui, sans-serif; display: block; margin: 0 auto; max-width: 100%; height: auto; } svg path { fill: none; stroke: #98a2b3; }
svg text { text-anchor: middle; } svg .small { font-size: 11px; fill: #475467; }
svg .shape { font-size: 11px; fill: #667085; paint-order: stroke; stroke: #fff; stroke-width: 4px; }
svg rect { fill: #fff; stroke: #b8c0cc; stroke-dasharray: 3 2; } svg .input rect { fill: #e8effd; stroke: #a9c0ef; stroke-dasharray: none; }
.gone .changed rect { fill: #fbe3e0; stroke: #c0564a; stroke-dasharray: none; }
.new .changed rect { fill: #dff3e1; stroke: #3f8f4a; stroke-dasharray: none; }
</style></head><body>
)";

/// A, B, … Z, AA, AB, …
std::string letters(std::size_t number) {
  std::string text(1, static_cast<char>('A' + number % 26));
  return number < 26 ? text : letters(number / 26 - 1) + text;
}

std::string cell(const std::string& text) { return "<td>" + html_escaped(text) + "</td>"; }

std::string row(const std::string& name, const std::string& value) {
  return value.empty() ? "" : "<tr><th>" + html_escaped(name) + "</th>" + cell(value) + "</tr>\n";
}

std::string arrow(const std::string& before, const std::string& after) { return before + " → " + after; }

std::string figures(const Summary& summary) {
  const auto bytes = [](std::uint64_t count) { return runtime::format_bytes(count); };
  const auto millions = [](double operations) { return fmt::format("{:.4g}", operations / 1e6); };
  std::string text = "<table class='text'>\n";
  text += row("cost by the model",
              arrow(runtime::format_seconds(summary.seconds_before), runtime::format_seconds(summary.seconds_after)));
  text += row("device", summary.device_description);
  text += row("costs measured", summary.cost_source);
  text += row("nodes", arrow(fmt::format("{}", summary.before.count), fmt::format("{}", summary.after.count)));
  text += row("arithmetic, million operations",
              arrow(millions(summary.operations_before), millions(summary.operations_after)));
  text += row("initializers", arrow(bytes(summary.bytes_before), bytes(summary.bytes_after)));
  if (summary.subgraphs > 0)
    text += row("subgraphs", fmt::format("{} searched, {} changed", summary.subgraphs, summary.subgraphs_changed));
  text += row("dynamic dimensions", sizes_text(summary));
  text += row("rules, opset", fmt::format("{}, {}", summary.rules_loaded, summary.opset));
  text += row("search", search_text(summary).substr(sizeof("search: ") - 1));
  text += row("time", fmt::format("import {}, search {}, benchmark and verification {}",
                                  runtime::format_seconds(summary.import_seconds),
                                  runtime::format_seconds(summary.search_seconds),
                                  runtime::format_seconds(summary.verification_seconds)));
  return text + row("memory of this process", bytes(summary.peak_bytes)) + "</table>\n";
}

std::string verification(const Summary& summary) {
  if (summary.verification.empty() && summary.onnxruntime_skipped_reason.empty()) return "";
  std::string text =
      "<h2>Verification</h2>\n<table class='text'><thead><tr><th>verifier</th><th>result</th></tr></thead>\n";
  for (const VerificationResult& each : summary.verification) {
    const std::string result = verification_text(each, summary.verification_options.accuracy);
    text += row(each.verifier, result.substr(each.verifier.size() + 2));
  }
  if (!summary.onnxruntime_skipped_reason.empty())
    text += row("onnxruntime", "skipped: " + summary.onnxruntime_skipped_reason);
  return text + "</table>\n";
}

std::string times(const Summary& summary) {
  const std::string text = benchmark_text(summary);
  return text.empty() ? "" : "<h2>Times</h2>\n<pre>" + html_escaped(text) + "</pre>\n";
}

std::string operators(const Summary& summary) {
  const auto line = [](const std::string& name, const CostRow& before, const CostRow& after, const char* kind) {
    std::string text = fmt::format("<tr{}><th>{}</th>", kind, html_escaped(name));
    for (const auto& each : cells(before)) text += cell(each);
    for (const auto& each : cells(after)) text += cell(each);
    return text + "</tr>\n";
  };
  std::string text =
      "<h2>Operators</h2>\n<table><thead><tr><th></th><th colspan='3'>before</th><th colspan='3'>after</th></tr>"
      "<tr><th>operator</th>";
  for (int side = 0; side < 2; ++side) text += "<th>nodes</th><th>cost</th><th>weights</th>";
  text += "</tr></thead>\n";
  for (const auto& each : summary.rows) text += line(each.name, each.before, each.after, "");
  return text + line("total", summary.before, summary.after, " class='total'") + "</table>\n";
}

/// Returns the names of the boxes with the shapes of their results.
std::string names_of(const Drawing& drawing, const std::vector<std::uint32_t>& boxes) {
  std::string text;
  for (const std::uint32_t number : boxes) {
    const Drawing::Box& box = drawing.boxes[number];
    text += (text.empty() ? "" : ", ") + box.name + (box.shape.empty() ? "" : " (" + box.shape + ")");
  }
  return text.empty() ? "nothing" : text;
}

/// Draws the first change of a group and lists all of them.
std::string drawn(const ChangeGroup& group, std::size_t number, const Summary& summary) {
  const std::string name = letters(number);
  std::string text =
      fmt::format("<h3 id='change-{}'>{}{}</h3>\n", name, name,
                  group.changes.size() > 1 ? fmt::format(", {} times: the first", group.changes.size()) : "");
  // The width depends on the number of nodes.
  const auto side = [](const char* kinds, const char* title, const Drawing& drawing) {
    return fmt::format("<div class='graph {}' style='flex-grow: {}'><h3>{}</h3>{}</div>", kinds,
                       std::clamp<std::size_t>(drawing.boxes.size(), 3, 8), title, to_svg(drawing));
  };
  text +=
      "<div class='graphs'>" + side("gone", "before", group.before) + side("new", "after", group.after) + "</div>\n";
  text += "<details><summary>nodes</summary><table class='text'>\n";
  for (const Change& each : group.changes) {
    text += "<tr>" + cell(names_of(summary.drawing_before, each.before)) + cell("→") +
            cell(names_of(summary.drawing_after, each.after)) + "</tr>\n";
  }
  return text + "</table></details>\n";
}

std::string outline(const Summary& summary, const std::vector<ChangeGroup>& groups) {
  std::string text = "<h2>The model from top to bottom</h2>\n<ol class='outline'>\n";
  for (const Stretch& stretch : outline_of(summary.drawing_before, groups)) {
    text += "<li>";
    if (stretch.times > 1) text += fmt::format("<span class='times'>{} ×</span> ", stretch.times);
    for (std::size_t i = 0; i < stretch.items.size(); ++i) {
      const Stretch::Item& item = stretch.items[i];
      text += i == 0 ? "" : ", ";
      if (item.group < 0) text += "<span class='stay'>" + html_escaped(item.text) + "</span>";
      const std::string name = item.group < 0 ? "" : letters(static_cast<std::size_t>(item.group));
      if (item.group >= 0) text += fmt::format("{}<a class='kind' href='#change-{}'>{}</a>", item.text, name, name);
    }
    text += "</li>\n";
  }
  return text + "</ol>\n";
}

std::string rules(const Summary& summary) {
  if (summary.fired.empty()) return "";
  std::string text = "<h2>Rules that fired</h2>\n";
  for (const auto& fired : summary.fired) {
    text += fmt::format("<p>{} &times; {}; proved {}{}</p>\n<pre>{}</pre>\n", fired.times,
                        html_escaped(fired_title(fired)), fired.proof,
                        fired.saved > 0 ? ", saves " + runtime::format_seconds(fired.saved) + " by the model" : "",
                        html_escaped(fired.text));
    if (fired.certificate.empty()) continue;
    text += "<details><summary>certificate</summary><pre>" + html_escaped(fired.certificate) + "</pre></details>\n";
  }
  return text;
}

std::string opaque_nodes(const Summary& summary) {
  if (summary.opaque.empty()) return "";
  std::string text = "<h2>Opaque nodes, which no definition matches</h2>\n<ul>\n";
  for (const auto& each : summary.opaque) {
    text +=
        fmt::format("<li>{} &times; {}: {}</li>\n", each.count, html_escaped(each.op_type), html_escaped(each.reason));
  }
  return text + "</ul>\n";
}

}  // namespace

std::string to_html(const Summary& summary) {
  const std::vector<ChangeGroup> groups = changes_between(summary.drawing_before, summary.drawing_after);
  std::string page = page_head;
  page += "<h1>" + html_escaped(summary.model) + "</h1>\n<p class='verdict'>" + html_escaped(outcome_text(summary));
  page += "</p>\n";
  if (!summary.warning.empty()) page += "<p class='warning'>" + html_escaped(summary.warning) + "</p>\n";
  page += figures(summary) + times(summary) + verification(summary) + operators(summary);
  if (!groups.empty()) {
    page +=
        "<h2>What changed</h2>\n<p>Solid boxes changed, dashed boxes are their neighbors. The shapes of constants are "
        "below "
        "an operator, the shape of its result is below the box.</p>\n";
  }
  for (std::size_t number = 0; number < groups.size(); ++number) page += drawn(groups[number], number, summary);
  return page + outline(summary, groups) + rules(summary) + opaque_nodes(summary) + "</body></html>\n";
}

}  // namespace rulemill::optimize
