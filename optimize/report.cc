#include "optimize/report.h"

#include <fmt/format.h>

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
  return fmt::format("{} B", bytes);
}

std::string table_text(const Summary& summary) {
  constexpr const char* layout = "  {:<16} {:>7} {:>12} {:>12}   {:>7} {:>12} {:>12}\n";
  std::string text = fmt::format("  {:<16} {:>33}   {:>33}\n", "", "before", "after");
  text += fmt::format(layout, "operator", "nodes", "cost", "weights", "nodes", "cost", "weights");
  CostRow before, after;
  auto add = [](CostRow& total, const CostRow& row) {
    total.count += row.count;
    total.seconds += row.seconds;
    total.weight_bytes += row.weight_bytes;
  };
  auto line = [&](const std::string& name, const CostRow& a, const CostRow& b) {
    text += fmt::format(layout, name, a.count, time_text(a.seconds), bytes_text(a.weight_bytes), b.count,
                        time_text(b.seconds), bytes_text(b.weight_bytes));
  };
  for (const auto& row : summary.rows) {
    line(row.name, row.before, row.after);
    add(before, row.before);
    add(after, row.after);
  }
  line("total", before, after);
  return text;
}

runtime::Json row_json(const CostRow& row) {
  return {{"nodes", row.count}, {"seconds", row.seconds}, {"weight_bytes", row.weight_bytes}};
}

}  // namespace

std::string to_text(const Summary& summary) {
  std::string text = fmt::format("{} (opset {}), cost for {}\n", summary.model, summary.opset, summary.device);
  text += table_text(summary);
  text += fmt::format("  ONNX nodes {} -> {}, initializers {} -> {}, cost {} -> {} ({:.2f} times)\n",
                      summary.onnx_nodes_before, summary.onnx_nodes_after,
                      bytes_text(static_cast<double>(summary.bytes_before)),
                      bytes_text(static_cast<double>(summary.bytes_after)), time_text(summary.seconds_before),
                      time_text(summary.seconds_after), summary.seconds_before / summary.seconds_after);
  if (!summary.fired.empty()) text += "rules that fired\n";
  for (const auto& fired : summary.fired) {
    text += fmt::format("  {} x {}{}{}\n", fired.times, fired.id, fired.tier.empty() ? "" : " (" + fired.tier + ")",
                        fired.reversed > 0 ? fmt::format(", {} from right to left", fired.reversed) : "");
    for (std::size_t begin = 0; begin < fired.text.size();) {
      std::size_t end = std::min(fired.text.find('\n', begin), fired.text.size());
      text += "      " + fired.text.substr(begin, end - begin) + "\n";
      begin = end + 1;
    }
  }
  if (!summary.unknown.empty()) text += "left as they were\n";
  for (const auto& unknown : summary.unknown) {
    text += fmt::format("  {} x {}: {}\n", unknown.count, unknown.op_type, unknown.reason);
  }
  text += fmt::format("search: {} rules, alpha {}, {} graphs made, {} extended{}, {}\n", summary.rules_loaded,
                      summary.alpha, summary.graphs_made, summary.graphs_extended,
                      summary.exhausted ? " (all there are)" : "", time_text(summary.search_time));
  if (!summary.changed) return text + "nothing is cheaper: the model is left as it is\n";
  text +=
      fmt::format("verified: {} seeds, largest difference {:.2e} of the largest value (allowed {:.0e}), {}\n",
                  summary.verify_seeds, summary.verification.worst, summary.tolerance, time_text(summary.verify_time));
  return text;
}

runtime::Json to_json(const Summary& summary) {
  runtime::Json json;
  json["model"] = summary.model;
  json["output"] = summary.output;
  json["rules"] = summary.rules;
  json["device"] = summary.device;
  json["opset"] = summary.opset;
  json["changed"] = summary.changed;
  json["operators"] = runtime::Json::array();
  for (const auto& row : summary.rows) {
    json["operators"].push_back({{"name", row.name}, {"before", row_json(row.before)}, {"after", row_json(row.after)}});
  }
  json["cost_seconds"] = {{"before", summary.seconds_before}, {"after", summary.seconds_after}};
  json["initializer_bytes"] = {{"before", summary.bytes_before}, {"after", summary.bytes_after}};
  json["onnx_nodes"] = {{"before", summary.onnx_nodes_before}, {"after", summary.onnx_nodes_after}};
  json["fired"] = runtime::Json::array();
  for (const auto& fired : summary.fired) {
    json["fired"].push_back({{"rule", fired.id},
                             {"text", fired.text},
                             {"tier", fired.tier},
                             {"certified", fired.certified},
                             {"times", fired.times},
                             {"from_right_to_left", fired.reversed}});
  }
  json["unknown"] = runtime::Json::array();
  for (const auto& unknown : summary.unknown) {
    json["unknown"].push_back({{"op_type", unknown.op_type}, {"reason", unknown.reason}, {"nodes", unknown.count}});
  }
  json["search"] = {{"rules", summary.rules_loaded},
                    {"patterns", summary.patterns},
                    {"alpha", summary.alpha},
                    {"budget", summary.budget},
                    {"graphs_made", summary.graphs_made},
                    {"graphs_extended", summary.graphs_extended},
                    {"exhausted", summary.exhausted},
                    {"seconds", summary.search_time}};
  json["verification"] = {{"seeds", summary.verify_seeds},
                          {"tolerance", summary.tolerance},
                          {"worst", summary.verification.worst},
                          {"tensors", summary.verification.tensors},
                          {"elements", summary.verification.elements},
                          {"seconds", summary.verify_time}};
  json["import_seconds"] = summary.import_time;
  return json;
}

}  // namespace rulemill::optimize
