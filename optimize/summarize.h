// Transfers the results of the passes into the summary.
#pragma once

#include "algebra/rules/rule_set.h"
#include "optimize/cost/device_model.h"
#include "optimize/options.h"
#include "optimize/report/summary.h"
#include "optimize/search/search_result.h"
#include "optimize/subgraphs.h"
#include "optimize/verify/select_model.h"

namespace rulemill::optimize {

using CostRows = std::map<std::string, CostRow>;              // by ONNX operator
using OperatorCounts = std::map<std::string, std::uint32_t>;  // of nodes, by ONNX operator

/// Returns the costs of the imported model, with the counts of all its nodes, including duplicate and unused ones.
CostRows original_costs(const GraphBank& bank, CostModel& cost, const ImportedModel& import, const ExportPlan& plan);

/// Returns the costs with other numbers of nodes: those of the model before it was cleaned.
CostRows with_counts(CostRows rows, const OperatorCounts& counts);
/// Adds a row without costs for each operator.
void summarize_operators(Summary& summary, const OperatorCounts& before, const OperatorCounts& after);
void summarize_options(Summary& summary, const Options& options, const DeviceModel& device);
void summarize_model(Summary& summary, const OnnxModel& original, const ImportedModel& import, const GraphBank& bank,
                     const GraphEvaluator::Sizes& sizes);
void summarize_search(Summary& summary, const SearchResult& found);
/// Moves all but the models from `selected`.
void summarize_selection(Summary& summary, SelectedModel& selected, const GraphBank& bank);
/// Must follow summarize_selection().
void summarize_subgraphs(Summary& summary, const OptimizedSubgraphs& subgraphs);
void summarize_costs(Summary& summary, const CostRows& before, const CostRows& after);
void summarize_fired_rules(Summary& summary, const std::vector<RewriteStep>& steps,
                           const std::vector<algebra::RuleRecord>& rules, const algebra::TermBank& terms,
                           const algebra::Symbols& symbols);

}  // namespace rulemill::optimize
