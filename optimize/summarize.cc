#include "optimize/summarize.h"

#include <algorithm>

#include "algebra/terms/rule_text.h"

namespace rulemill::optimize {
namespace {

/// Sizes that no input has cannot be given.
void summarize_dynamic_dims(Summary& summary, const ImportedModel& import, const GraphBank& bank,
                            const GraphEvaluator::Sizes& given) {
  const auto has = [&bank](ValueId input, algebra::Atom size) {
    const auto& type = bank.value(input).type;
    return type && std::ranges::any_of(
                       *type, [size](const algebra::Poly& dim) { return (dim - dim.constant_term()).atom() == size; });
  };
  for (const DynamicDim& size : import.dynamic_dims) {
    if (std::ranges::none_of(import.inputs, [&](ValueId input) { return has(input, size.atom); })) continue;
    const auto found = given.find(size.atom);
    const bool assumed = found == given.end();
    summary.sizes.push_back({size.name, (assumed ? CostModel::default_size : found->second) + size.offset, assumed});
  }
}

void summarize_opaque_nodes(Summary& summary, const ImportedModel& import) {
  for (const auto& node : import.nodes) {
    if (!node.lowered.is_opaque() || node.is_constant() || node.elided) continue;
    auto group = std::ranges::find_if(
        summary.opaque, [&](const auto& each) { return each.op_type == node.op_type && each.reason == node.reason; });
    if (group == summary.opaque.end()) {
      group = summary.opaque.insert(summary.opaque.end(), {node.op_type, node.reason, 0});
    }
    ++group->count;
  }
}

Summary::FiredRule fired_rule(const algebra::RuleRecord& record, bool reversed, const algebra::TermBank& terms,
                              const algebra::Symbols& symbols) {
  Summary::FiredRule fired;
  fired.id = record.rule.id;
  fired.reversed = reversed;
  algebra::Rule applied = record.rule;
  if (reversed) std::swap(applied.source, applied.target);
  fired.text = algebra::to_string(applied, terms, symbols);
  if (record.rule.tier == algebra::Tier::Core) fired.tier = "core";
  if (record.rule.tier == algebra::Tier::Derived) fired.tier = "derived";
  fired.widens = record.rule.widens;
  using Kind = algebra::Certificate::Kind;
  fired.certified = record.certificate.kind != Kind::None;
  if (record.certificate.kind == Kind::Definitions) fired.proof = "by definitions";
  if (record.certificate.kind == Kind::Derivation) fired.proof = "by derivation";
  fired.certificate = record.certificate.text;
  return fired;
}

}  // namespace

CostRows original_costs(const GraphBank& bank, CostModel& cost, const ImportedModel& import, const ExportPlan& plan) {
  CostRows rows = costs_by_operator(bank, cost, import, plan, import.outputs);
  for (auto& [name, row] : rows) row.count = 0;
  for (const auto& node : import.nodes) {
    if (!node.is_constant()) ++rows[node.op_type].count;
  }
  return rows;
}

CostRows with_counts(CostRows rows, const OperatorCounts& counts) {
  for (auto& [name, row] : rows) row.count = 0;
  for (const auto& [name, count] : counts) rows[name].count = count;
  return rows;
}

void summarize_operators(Summary& summary, const OperatorCounts& before, const OperatorCounts& after) {
  summarize_costs(summary, with_counts({}, before), with_counts({}, after));
}

void summarize_options(Summary& summary, const Options& options, const DeviceModel& device) {
  summary.model = options.model.string();
  summary.output = options.out.string();
  summary.device = device.name;
  summary.device_description = device.description;
  summary.min_gain = options.min_gain;
  summary.saturated = options.search.method == SearchMethod::Saturation;
  summary.alpha = options.search.alpha;
  summary.budget = options.search.budget;
  summary.verification_options = options.verification;
}

void summarize_model(Summary& summary, const OnnxModel& original, const ImportedModel& import, const GraphBank& bank,
                     const GraphEvaluator::Sizes& sizes) {
  summary.opset = original.opset();
  summarize_opaque_nodes(summary, import);
  summarize_dynamic_dims(summary, import, bank, sizes);
  summary.bytes_before = summary.bytes_after = original.weight_bytes();
  summary.drawing_before = summary.drawing_after = draw_model(import, bank);
}

void summarize_search(Summary& summary, const SearchResult& found) {
  summary.seconds_found = found.best.at(0).seconds;
  static_cast<SearchCounts&>(summary) = found;
}

void summarize_selection(Summary& summary, SelectedModel& selected, const GraphBank& bank) {
  summary.verification = std::move(selected.verification);
  summary.onnxruntime_skipped_reason = std::move(selected.onnxruntime_skipped_reason);
  summary.benchmark = std::move(selected.benchmark);
  summary.warning = std::move(selected.warning);
  summary.changed = selected.model.has_value();
  if (!selected.model) return;
  summary.drawing_after = draw_model(*selected.import, bank);
  mark_differences(summary.drawing_before, summary.drawing_after);
  summary.bytes_after = selected.model->weight_bytes();
}

void summarize_subgraphs(Summary& summary, const OptimizedSubgraphs& subgraphs) {
  summary.subgraphs = subgraphs.searched;
  summary.subgraphs_changed = summary.changed ? subgraphs.changed : 0;
  if (summary.warning.empty()) summary.warning = subgraphs.warning;
}

void summarize_costs(Summary& summary, const CostRows& before, const CostRows& after) {
  std::map<std::string, Summary::Row> rows;
  for (const auto& [name, row] : before) rows[name].before = row;
  for (const auto& [name, row] : after) rows[name].after = row;
  for (auto& [name, row] : rows) {
    row.name = name;
    summary.before += row.before;
    summary.after += row.after;
    summary.rows.push_back(row);
  }
}

void summarize_fired_rules(Summary& summary, const std::vector<RewriteStep>& steps,
                           const std::vector<algebra::RuleRecord>& rules, const algebra::TermBank& terms,
                           const algebra::Symbols& symbols) {
  for (const RewriteStep& step : steps) {
    const algebra::RuleRecord& record = rules[step.rule];
    auto fired = std::ranges::find_if(summary.fired, [&](const Summary::FiredRule& each) {
      return each.id == record.rule.id && each.reversed == step.reversed;
    });
    if (fired == summary.fired.end()) {
      fired = summary.fired.insert(summary.fired.end(), fired_rule(record, step.reversed, terms, symbols));
    }
    ++fired->times;
    fired->saved += step.before - step.after;
  }
}

}  // namespace rulemill::optimize
