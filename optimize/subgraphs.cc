#include "optimize/subgraphs.h"

#include "optimize/onnx/export.h"
#include "optimize/search/search_graph.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

/// The types of the values that a subgraph uses from outside, by name.
using CapturedTypes = std::map<std::string, ValueType>;

/// The search of one subgraph. It has a bank of its own, because names have another meaning in a subgraph.
class SubgraphSearch {
 public:
  SubgraphSearch(const Subgraph& subgraph, const OnnxModel& model, const SizeBounds& bounds,
                 const SubgraphContext& context)
      : subgraph_(subgraph),
        model_(model),
        context_(context),
        bank_(context.library, context.symbols),
        fusion_(bank_),
        import_(import(model, bounds)) {}

  /// Returns the cheapest graph that the definitions verify; nullopt if none is cheaper. Adds its rules to `result`.
  std::optional<OnnxModel> run(OptimizedSubgraphs& result) {
    CostModel cost(bank_, fusion_, context_.device, {});
    const auto rules = specialized_rules();
    Matcher matcher(bank_, context_.terms, rules);
    const Options& options = context_.options;
    const SearchResult found =
        search_graph({options.search, options.windows, bank_, context_.terms, rules, matcher, {model_.opset()}}, cost,
                     import_.outputs, [&](std::span<const ValueId> outputs) { return plan(outputs).error.empty(); });
    const double max_seconds = cost.graph_seconds(import_.outputs) * (1 - context_.options.min_gain);
    for (const Candidate& candidate : found.best) {
      if (candidate.steps.empty() || candidate.seconds > max_seconds) continue;
      auto verified = export_verified(candidate, result.warning);
      if (!verified) continue;
      for (const RewriteStep& step : candidate.steps) {
        result.steps.push_back(step);
        result.steps.back().rule = static_cast<std::uint32_t>(result.rules.size());
        result.rules.push_back(rules[step.rule]);
      }
      return verified;
    }
    return std::nullopt;
  }

  std::vector<Explanation> explain_target() {
    CostModel cost(bank_, fusion_, context_.device, {});
    const auto rules = specialized_rules();
    Matcher matcher(bank_, context_.terms, rules);
    try {
      return explain({bank_, import_, context_.terms, context_.rules, rules, matcher, cost}, context_.options.explain);
    } catch (const runtime::UsageError&) {  // the target is in another graph
      return {};
    }
  }

 private:
  /// Without rules that widen, because what reads the outputs is not known here.
  std::vector<algebra::RuleRecord> specialized_rules() {
    auto rules =
        algebra::specialize(context_.rules, used_operators(bank_), context_.library, context_.terms, context_.symbols);
    std::erase_if(rules, [](const algebra::RuleRecord& each) { return each.rule.widens; });
    return rules;
  }

  ImportedModel import(const OnnxModel& model, const SizeBounds& bounds) {
    return import_model(model, bank_, &context_.inference, bounds, subgraph_.captured);
  }

  ExportPlan plan(std::span<const ValueId> outputs) {
    return plan_export(import_, bank_, fusion_, outputs, model_.opset());
  }

  std::optional<OnnxModel> export_verified(const Candidate& candidate, std::string& warning) {
    try {
      OnnxModel exported = export_model(model_, import_, bank_, plan(candidate.outputs), candidate.outputs);
      const ImportedModel reimported = import(exported, import_.bounds);
      const VerificationResult result =
          verify(bank_, import_.outputs, reimported.outputs, context_.options.verification);
      if (result.is_equal()) return exported;
      warning = model_.origin() + ": " + result.reason;
    } catch (const runtime::Interrupted&) {
      throw;
    } catch (const runtime::Error& error) {
      warning = error.what();
    }
    return std::nullopt;
  }

  const Subgraph& subgraph_;
  const OnnxModel& model_;
  const SubgraphContext& context_;
  GraphBank bank_;
  Fusion fusion_;
  ImportedModel import_;
};

void optimize_in_place(OnnxModel& model, const SizeBounds& bounds, const CapturedTypes& captured,
                       const SubgraphContext& context, OptimizedSubgraphs& result) {
  if (!has_subgraphs(model)) return;
  GraphBank bank(context.library, context.symbols);
  const ImportedModel import = import_model(model, bank, &context.inference, bounds, captured);
  for (const Subgraph& subgraph : subgraphs_of(model, import, bank)) {
    OnnxModel inner = subgraph.model;
    const std::uint32_t changed_before = result.changed;
    optimize_in_place(inner, import.bounds, subgraph.captured, context, result);
    ++result.searched;
    if (auto optimized = SubgraphSearch(subgraph, inner, import.bounds, context).run(result)) {
      inner = std::move(*optimized);
      ++result.changed;
    }
    if (result.changed != changed_before) replace_subgraph(model, subgraph, inner);
  }
}

void explain_recursively(const OnnxModel& model, const SizeBounds& bounds, const CapturedTypes& captured,
                         const SubgraphContext& context, std::vector<Explanation>& found) {
  if (!has_subgraphs(model)) return;
  GraphBank bank(context.library, context.symbols);
  const ImportedModel import = import_model(model, bank, &context.inference, bounds, captured);
  for (const Subgraph& subgraph : subgraphs_of(model, import, bank)) {
    for (Explanation& each : SubgraphSearch(subgraph, subgraph.model, import.bounds, context).explain_target()) {
      if (each.place.empty()) continue;
      each.place += " in " + subgraph.model.origin();
      found.push_back(std::move(each));
    }
    explain_recursively(subgraph.model, import.bounds, subgraph.captured, context, found);
  }
}

}  // namespace

OptimizedSubgraphs optimize_subgraphs(const OnnxModel& model, const SubgraphContext& context) {
  OptimizedSubgraphs result;
  if (!has_subgraphs(model)) return result;
  OnnxModel copy = model;
  optimize_in_place(copy, {}, {}, context, result);
  if (result.changed > 0) result.model = std::move(copy);
  return result;
}

std::vector<Explanation> explain_subgraphs(const OnnxModel& model, const SubgraphContext& context) {
  std::vector<Explanation> found;
  explain_recursively(model, {}, {}, context, found);
  return found;
}

}  // namespace rulemill::optimize
