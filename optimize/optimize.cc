#include "optimize/optimize.h"

#include <algorithm>

#include "algebra/rules/rule_databases.h"
#include "optimize/candidates.h"
#include "optimize/cost/cost_table.h"
#include "optimize/cost/onnxruntime_costs.h"
#include "optimize/gpu/device/costs.h"
#include "optimize/gpu/device/plan_executor.h"
#include "optimize/model/empty_windows.h"
#include "optimize/subgraphs.h"
#include "optimize/summarize.h"
#include "runtime/process/machine.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"
#include "runtime/text/join_text.h"

namespace rulemill::optimize {

namespace {

/// Returns nullptr for analytic costs.
std::unique_ptr<CostSource> open_cost_source(const Options& options, algebra::Library& library) {
  const CostOptions& cost = options.cost;
  const std::uint32_t threads = options.benchmark.threads;
  if (cost.source == "table") {
    std::vector<std::string> machines{machine_name()};
    if (const auto device = gpu::device_name()) machines.push_back(*device);
    return table_costs(cost.table, library, threads, machines);
  }
  if (cost.source == "cuda") return gpu::cuda_costs(cost.table, library);
  if (cost.source == "onnxruntime") return onnxruntime_costs(cost.helper, cost.table, library, threads);
  return nullptr;
}

OnnxModel read_model(const Options& options) {
  OnnxModel model = OnnxModel::read(options.model);
  try_benchmark_command(options.model, options.benchmark);
  return model;
}

RuntimeFusions read_runtime_fusions(const Options& options) {
  return options.runtime_fusions.empty() ? RuntimeFusions() : RuntimeFusions::load(options.runtime_fusions);
}

std::uint64_t count_nodes(const CostRows& rows) {
  std::uint64_t count = 0;
  for (const auto& [name, row] : rows) count += row.count;
  return count;
}

/// One run over a model, with the state that its passes share.
class Optimization {
 public:
  /// Optimizes the subgraphs, imports the model, opens the costs and specializes the rules.
  Optimization(const Options& options, algebra::Library& library, algebra::TermBank& terms, algebra::Symbols& symbols,
               const std::vector<algebra::RuleRecord>& rules)
      : options_(options),
        terms_(terms),
        symbols_(symbols),
        device_(find_device(options.cost.device)),
        original_(read_model(options)),
        inference_(options.type_helper),
        subgraph_context_{options, library, terms, symbols, rules, device_, inference_},
        subgraphs_(options.explain.empty() ? optimize_subgraphs(original_, subgraph_context_) : OptimizedSubgraphs()),
        model_(subgraphs_.model ? *subgraphs_.model : original_),
        bank_(library, symbols),
        import_(import_model(model_, bank_, &inference_)),
        fusion_(bank_, read_runtime_fusions(options)),
        sizes_(given_sizes(options.input_shapes, import_, bank_)),
        cost_source_(open_cost_source(options, library)),
        cost_(bank_, fusion_, device_, sizes_, cost_source_.get()),
        rules_(algebra::specialize(rules, used_operators(bank_), library, terms, symbols)),
        matcher_(bank_, terms, rules_) {
    summary_.rules_loaded = rules.size();
    summary_.import_seconds = watch_.lap();
  }

  /// Explains a rule or node of the model and of its subgraphs.
  std::vector<Explanation> explain_target() {
    std::vector<Explanation> found = explain_subgraphs(original_, subgraph_context_);
    try {
      for (Explanation& each : explain({bank_, import_, terms_, rules_, matcher_, cost_}, options_.explain))
        found.push_back(std::move(each));
    } catch (const runtime::UsageError&) {
      if (found.empty()) throw;  // the target is not in a subgraph either
    }
    std::ranges::stable_sort(found, std::ranges::greater(), &Explanation::matched_operators);
    return found;
  }

  /// Searches for cheaper graphs.
  void search() {
    const EmptyWindows empty_windows(bank_, import_.outputs);
    const IsExportable is_exportable = [&](std::span<const ValueId> outputs) {
      return plan(outputs).error.empty() && !empty_windows.are_added_by(outputs);
    };
    std::vector<CostModel> variants = cost_variants();
    found_ = search_with_variants({options_.search, options_.windows, bank_, terms_, rules_, matcher_}, cost_, variants,
                                  import_.outputs, is_exportable);
    summary_.search_seconds = watch_.lap();
    if (cost_source_) {
      cost_source_->save();
      summary_.cost_source = cost_source_->description();
    }
    summarize_options(summary_, options_, device_);
    summarize_model(summary_, original_, import_, bank_, sizes_);
    summarize_search(summary_, found_);
    summary_.patterns = matcher_.patterns().size();
  }

  /// Selects the fastest candidate that passes verification.
  void select() {
    const Candidate unchanged{import_.outputs, cost_.graph_seconds(import_.outputs), {}};
    const CostRows costs_before = original_costs(bank_, cost_, import_, plan(import_.outputs));
    const bool export_reduces_nodes =
        subgraphs_.model.has_value() || count_nodes(costs_of(import_.outputs)) < count_nodes(costs_before);
    const std::vector<Candidate> candidates =
        choose_candidates(found_.best, unchanged, options_.min_gain, export_reduces_nodes);
    selected_ = select_model({options_.model, options_.out, model_, import_, bank_, fusion_, cost_, inference_, sizes_,
                              options_.input_shapes, options_.verification, options_.benchmark},
                             candidates);
    summary_.verification_seconds = watch_.lap();
    summarize_selection(summary_, selected_, bank_);
    summarize_subgraphs(summary_, subgraphs_);
    summarize_result(unchanged, selected_.model ? candidates[selected_.candidate] : unchanged, costs_before);
  }

  /// Writes the selected model, or copies the original.
  void write() const {
    if (options_.out.empty()) return;
    if (selected_.model) {
      selected_.model->write(options_.out);
    } else {
      original_.write_as_read(options_.out);
    }
  }

  Summary summary() {
    summary_.peak_bytes = runtime::peak_memory_bytes();
    return std::move(summary_);
  }

 private:
  ExportPlan plan(std::span<const ValueId> outputs) {
    return plan_export(import_, bank_, fusion_, outputs, model_.opset());
  }

  CostRows costs_of(std::span<const ValueId> outputs) {
    return costs_by_operator(bank_, cost_, import_, plan(outputs), outputs);
  }

  /// Returns cost models of variants of the device, whose cheapest graphs are candidates if results are benchmarked.
  std::vector<CostModel> cost_variants() {
    std::vector<CostModel> variants;
    if (!options_.benchmark.is_possible()) return variants;
    for (const DeviceModel& variant : device_variants(device_)) {
      if (cost_source_ || variant.overhead != device_.overhead) variants.emplace_back(bank_, fusion_, variant, sizes_);
    }
    return variants;
  }

  void summarize_result(const Candidate& unchanged, const Candidate& result, const CostRows& costs_before) {
    summary_.seconds_before = unchanged.seconds;
    summary_.seconds_after = result.seconds;
    summarize_costs(summary_, costs_before, selected_.model ? costs_of(result.outputs) : costs_before);
    summary_.operations_before = cost_.operations(import_.outputs);
    summary_.operations_after = cost_.operations(result.outputs);
    summarize_fired_rules(summary_, result.steps, rules_, terms_, symbols_);
    if (selected_.model) summarize_fired_rules(summary_, subgraphs_.steps, subgraphs_.rules, terms_, symbols_);
  }

  runtime::Stopwatch watch_;
  const Options& options_;
  const algebra::TermBank& terms_;
  const algebra::Symbols& symbols_;
  const DeviceModel device_;
  const OnnxModel original_;
  NodeInference inference_;
  const SubgraphContext subgraph_context_;
  const OptimizedSubgraphs subgraphs_;
  const OnnxModel& model_;  // with optimized subgraphs
  GraphBank bank_;
  const ImportedModel import_;
  Fusion fusion_;
  const GraphEvaluator::Sizes sizes_;
  const std::unique_ptr<CostSource> cost_source_;
  CostModel cost_;
  const std::vector<algebra::RuleRecord> rules_;  // specialized to the model
  Matcher matcher_;
  SearchResult found_;
  SelectedModel selected_;
  Summary summary_;
};

}  // namespace

Summary run(const Options& options) {
  algebra::Library library = algebra::Library::load(options.operators);
  algebra::TermBank terms(library);
  algebra::Symbols symbols;
  const std::vector<algebra::RuleRecord> rules = algebra::load_rules(options.rules, library, terms, symbols);
  std::vector<std::string> names;
  for (const std::filesystem::path& database : options.rules) {
    names.push_back((std::filesystem::is_directory(database) ? database / "rules.rmdb" : database).string());
  }
  Summary summary = run(options, library, terms, symbols, rules);
  summary.rules = runtime::join_text(names);
  return summary;
}

Summary run(const Options& options, algebra::Library& library, algebra::TermBank& terms, algebra::Symbols& symbols,
            const std::vector<algebra::RuleRecord>& rules) {
  Optimization optimization(options, library, terms, symbols, rules);
  if (!options.explain.empty()) {
    Summary summary;
    summary.explanations = optimization.explain_target();
    return summary;
  }
  optimization.search();
  optimization.select();
  optimization.write();
  return optimization.summary();
}

}  // namespace rulemill::optimize
