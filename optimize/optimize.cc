#include "optimize/optimize.h"

#include <algorithm>
#include <functional>
#include <set>

#include "optimize/candidates.h"
#include "optimize/cost/cost_table.h"
#include "optimize/cost/onnxruntime_costs.h"
#include "optimize/gpu/device/costs.h"
#include "optimize/gpu/device/plan_executor.h"
#include "optimize/model/empty_windows.h"
#include "optimize/model/numbers.h"
#include "optimize/onnx/clean/clean.h"
#include "optimize/onnx/inputs/input_set.h"
#include "optimize/onnx/raised_opset.h"
#include "optimize/report/report_text.h"
#include "optimize/rule_databases.h"
#include "optimize/subgraphs.h"
#include "optimize/summarize.h"
#include "optimize/verify/onnxruntime.h"
#include "runtime/files/destination.h"
#include "runtime/files/scratch_folder.h"
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
  if (cost.source == "random") return random_costs(cost.seed);
  if (cost.source == "cuda") return gpu::cuda_costs(cost.table, library);
  if (cost.source == "onnxruntime") return onnxruntime_costs(cost.helper, cost.table, library, threads);
  return nullptr;
}

/// The device whose model estimates what is not measured: with times of a GPU a GPU, unless another is given.
DeviceModel estimating_device(const CostOptions& cost, const std::filesystem::path& calibration) {
  const bool is_default = cost.device == CostOptions().device;
  DeviceModel device = find_device(cost.source == "cuda" && is_default ? "h100" : cost.device);
  const bool is_calibrated = cost.source == "analytic" && is_default && !calibration.empty();
  return is_calibrated ? calibrated(std::move(device), Calibration::load(calibration)) : device;
}

/// What the user gives besides rules.
struct ModelFiles {
  OnnxModel model;
  std::vector<InputSet> input_sets;
};

ModelFiles read_model_files(const Options& options) {
  ModelFiles files{OnnxModel::read(options.model), {}};
  require_inputs(options.input_shapes, files.model);
  if (!options.only_clean) try_benchmark_command(options.model, options.benchmark);
  for (const auto& path : options.inputs) {
    for (InputSet& set : read_input_sets(path, files.model)) files.input_sets.push_back(std::move(set));
  }
  return files;
}

std::vector<GivenInputs> convert_inputs(const std::vector<InputSet>& sets, const ImportedModel& import,
                                        const GraphBank& bank) {
  std::vector<GivenInputs> given;
  for (const InputSet& set : sets) given.push_back(to_given_inputs(set, import, bank));
  return given;
}

/// Writes the inputs to the folder.
RuntimeInputs export_inputs(const std::vector<InputSet>& sets, const InputShapes& shapes,
                            const std::filesystem::path& folder) {
  RuntimeInputs inputs{shapes, {}};
  for (const InputSet& set : sets) {
    const auto folder_of_set = folder / ("set" + std::to_string(inputs.files.size()));
    std::filesystem::create_directory(folder_of_set);
    inputs.files.push_back(write_numpy_files(set, folder_of_set));
  }
  return inputs;
}

struct CleanedModel {
  OnnxModel model;
  CleanResult result;
};

CleanedModel clean_copy(const OnnxModel& original, NodeInference& inference) {
  CleanedModel cleaned{original, {}};
  cleaned.result = clean_model(cleaned.model, inference);
  if (!cleaned.result.changed) cleaned.model = OnnxModel(original);
  return cleaned;
}

/// Adds to the metadata how the model was made.
void set_provenance(OnnxModel& model, const OnnxModel& original, const Options& options, const Summary& summary) {
  const auto times_fired = [](const Summary::FiredRule& fired) {
    return fired_name(fired) + " x " + std::to_string(fired.times);
  };
  model.set_metadata("rulemill.version", options.version);
  model.set_metadata("rulemill.input_digest", original.digest());
  model.set_metadata("rulemill.rules", runtime::join_text(summary.fired, times_fired));
}

void summarize_cleaning(Summary& summary, const CleanResult& result) {
  summary.cleaned = result.changed;
  summary.nodes_before_cleaning = result.nodes_before;
  summary.nodes_after_cleaning = result.nodes_after;
}

void begin_step(const Options& options, const char* step) {
  if (options.on_step) options.on_step(step);
}

/// Returns the folder of a result, for files that are as large.
std::filesystem::path folder_of_result(const std::filesystem::path& out) {
  const bool is_file = runtime::destination_of(out).kind == runtime::Destination::Kind::File;
  return is_file ? std::filesystem::absolute(out).parent_path() : std::filesystem::temp_directory_path();
}

/// Runs the model and its cleaned copy in onnxruntime, if there is one. Throws Error if their outputs differ in a bit.
void compare_bits(const OnnxModel& cleaned, const std::vector<InputSet>& input_sets, const Options& options,
                  Summary& summary) {
  if (options.verification.onnxruntime.empty()) return;
  begin_step(options, "comparing outputs with those of the cleaned model");
  const runtime::ScratchFolder scratch(folder_of_result(options.out));
  const std::filesystem::path file = scratch / "cleaned.onnx";
  cleaned.write(file);
  auto result = compare_bits_in_onnxruntime(options.model, file, options.verification,
                                            export_inputs(input_sets, options.input_shapes, scratch.path()),
                                            summary.onnxruntime_skipped_reason);
  if (!result) return;
  if (result->verdict == VerificationResult::Verdict::Different)
    throw runtime::Error(options.model, "the clean-up changed an output (" + result->verifier + "): " + result->reason +
                                            "; nothing was written");
  summary.bit_comparison = std::move(*result);
}

void write_cleaned(OnnxModel& cleaned, const OnnxModel& original, const std::vector<InputSet>& input_sets,
                   const Options& options, Summary& summary) {
  if (!summary.cleaned) return original.write_as_read(options.out);
  set_provenance(cleaned, original, options, summary);
  compare_bits(cleaned, input_sets, options, summary);
  cleaned.write(options.out);
}

/// Does nothing but clean the model.
Summary clean_only(const Options& options) {
  const auto [original, input_sets] = read_model_files(options);
  NodeInference inference(options.type_helper);
  CleanedModel cleaned = clean_copy(original, inference);
  Summary summary;
  summary.model = options.model.string();
  summary.output = options.out.string();
  summary.opset = original.opset();
  summary.only_clean = true;
  summary.bytes_before = original.weight_bytes();
  summary.bytes_after = cleaned.model.weight_bytes();
  summarize_cleaning(summary, cleaned.result);
  summarize_operators(summary, count_operators(original), count_operators(cleaned.model));
  if (!options.out.empty()) write_cleaned(cleaned.model, original, input_sets, options, summary);
  summary.peak_bytes = runtime::peak_memory_bytes();
  return summary;
}

std::uint64_t count_nodes(const CostRows& rows) {
  std::uint64_t count = 0;
  for (const auto& [name, row] : rows) count += row.count;
  return count;
}

/// One run over a model, with the state that its passes share.
class Optimization {
 public:
  /// Cleans the model, optimizes its subgraphs, imports it, opens the costs and specializes the rules. To explain, the
  /// model stays as it is.
  Optimization(const Options& options, ModelFiles files, algebra::Library& library, algebra::TermBank& terms,
               algebra::Symbols& symbols, const std::vector<algebra::RuleRecord>& rules)
      : options_(options),
        terms_(terms),
        symbols_(symbols),
        device_(estimating_device(options.cost, options.calibration)),
        original_(std::move(files.model)),
        input_sets_(std::move(files.input_sets)),
        inference_(options.type_helper),
        cleaned_(options.explain.empty() ? clean_copy(original_, inference_) : CleanedModel{original_, {}}),
        subgraph_context_{options, library, terms, symbols, rules, device_, inference_},
        subgraphs_(options.explain.empty() ? optimize_subgraphs(cleaned_.model, subgraph_context_)
                                           : OptimizedSubgraphs()),
        model_(subgraphs_.model ? *subgraphs_.model : cleaned_.model),
        bank_(library, symbols),
        import_(import_model(model_, bank_, &inference_)),
        fusion_(bank_,
                options.runtime_fusions.empty() ? RuntimeFusions() : RuntimeFusions::load(options.runtime_fusions)),
        given_inputs_(convert_inputs(input_sets_, import_, bank_)),
        sizes_(given_inputs_.empty() ? given_sizes(options.input_shapes, import_, bank_) : given_inputs_[0].sizes),
        cost_source_(open_cost_source(options, library)),
        cost_(bank_, fusion_, device_, sizes_, cost_source_.get()),
        searched_(name_constants(bank_, import_.outputs, terms, rules, fusion_.runtime().numbers())),
        rules_(algebra::specialize(rules, used_operators(bank_), library, terms, symbols)),
        matcher_(bank_, terms, rules_) {
    summary_.rules_loaded = rules.size();
    summary_.import_seconds = watch_.lap();
  }

  /// Explains a rule or node of the model and of its subgraphs.
  std::vector<Explanation> explain_target() {
    std::vector<Explanation> found = explain_subgraphs(original_, subgraph_context_);
    try {
      for (Explanation& each :
           explain({bank_, import_, terms_, subgraph_context_.rules, rules_, matcher_, cost_}, options_.explain)) {
        if (!each.place.empty() || found.empty()) found.push_back(std::move(each));
      }
    } catch (const runtime::UsageError&) {
      if (found.empty()) throw;  // the target is not in a subgraph either
    }
    std::ranges::stable_sort(found, {}, &Explanation::distance);
    return found;
  }

  /// Searches for cheaper graphs.
  void search() {
    const EmptyWindows empty_windows(bank_, import_.outputs);
    const IsExportable is_exportable = [&](std::span<const ValueId> outputs) {
      return plan(outputs).error.empty() && !empty_windows.are_added_by(outputs);
    };
    std::vector<CostModel> variants = cost_variants();
    const SearchContext context{
        options_.search, options_.windows, bank_, terms_, rules_, matcher_, {model_.opset(), raised_opset(model_)}};
    found_ = search_with_variants(context, cost_, variants, searched_.outputs, is_exportable);
    summary_.search_seconds = watch_.lap();
    if (cost_source_) {
      cost_source_->require_times();
      cost_source_->save();
      summary_.cost_source = cost_source_->description();
    }
    summarize_options(summary_, options_, device_);
    summarize_model(summary_, original_, import_, bank_, sizes_);
    summary_.bytes_after = cleaned_.model.weight_bytes();
    summarize_cleaning(summary_, cleaned_.result);
    summarize_search(summary_, found_);
    summary_.patterns = matcher_.patterns().size();
  }

  /// Returns the cheapest graph found.
  const Candidate& best() const { return found_.best.at(0); }
  /// Returns profiles of it.
  std::vector<WindowProfile> profiles() {
    return window_profiles(bank_, cost_, best().outputs, terms_, subgraph_context_.rules);
  }

  /// Selects the fastest candidate that passes verification.
  void select() {
    const Candidate unchanged{import_.outputs, cost_.graph_seconds(import_.outputs), {}};
    const CostRows cleaned_costs = original_costs(bank_, cost_, import_, plan(import_.outputs));
    const auto is_replaced = [](const auto& record) { return record.lowered.replaces_node; };
    const bool export_changes_model = subgraphs_.model.has_value() || std::ranges::any_of(import_.nodes, is_replaced) ||
                                      count_nodes(costs_of(import_.outputs)) < count_nodes(cleaned_costs);
    const std::vector<Candidate> candidates =
        choose_candidates(found_.best, unchanged, options_.min_gain, export_changes_model);
    const bool has_file = runtime::destination_of(options_.out).kind == runtime::Destination::Kind::File;
    const std::filesystem::path out = has_file ? options_.out : std::filesystem::path();
    const runtime::ScratchFolder scratch;
    const RuntimeInputs runtime_inputs = export_inputs(input_sets_, options_.input_shapes, scratch.path());
    if (cost_source_) cost_source_->release_device();  // for the processes that benchmark
    selected_ = select_model({options_.model, out, model_, import_, bank_, fusion_, cost_, inference_, sizes_,
                              runtime_inputs, given_inputs_, options_.verification, options_.benchmark},
                             candidates);
    summary_.verification_seconds = watch_.lap();
    if (selected_.model && options_.result_proof) prove(candidates[selected_.candidate]);
    summarize_selection(summary_, selected_, bank_);
    summarize_subgraphs(summary_, subgraphs_);
    summarize_result(unchanged, selected_.model ? candidates[selected_.candidate] : unchanged, cleaned_costs);
  }

  /// Calls a function that throws if the rules that fired must not be used.
  void check_with(const std::function<void(const Summary&)>& check) {
    watch_.lap();
    check(summary_);
    summary_.rule_check_seconds = watch_.lap();
  }

  /// Writes the selected model, or the cleaned one; copies the original if that is equal.
  void write() {
    if (options_.out.empty()) return;
    if (!selected_.model) return write_cleaned(cleaned_.model, original_, input_sets_, options_, summary_);
    set_provenance(*selected_.model, original_, options_, summary_);
    selected_.model->write(options_.out);
  }

  Summary summary() {
    summary_.peak_bytes = runtime::peak_memory_bytes();
    return std::move(summary_);
  }

 private:
  /// Composes the proof of a result, if the model and its subgraphs are searched as they are.
  void prove(const Candidate& result) {
    if (subgraphs_.model) return;
    const GraphChange named{{}, searched_.origins};
    summary_.proof = options_.result_proof(
        {bank_, import_, *selected_.import, terms_, rules_, named, result, selected_.names, cleaned_.result.changed});
  }

  ExportPlan plan(std::span<const ValueId> outputs) { return plan_export(model_, import_, bank_, fusion_, outputs); }

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

  void summarize_result(const Candidate& unchanged, const Candidate& result, const CostRows& cleaned_costs) {
    summary_.seconds_before = unchanged.seconds;
    summary_.seconds_after = result.seconds;
    summarize_costs(summary_, with_counts(cleaned_costs, count_operators(original_)),
                    selected_.model ? costs_of(result.outputs) : cleaned_costs);
    summary_.operations_before = cost_.operations(import_.outputs);
    summary_.operations_after = cost_.operations(result.outputs);
    summarize_fired_rules(summary_, result.steps, rules_, terms_, symbols_);
    if (selected_.model) summarize_fired_rules(summary_, subgraphs_.steps, subgraphs_.rules, terms_, symbols_);
  }

  runtime::Stopwatch watch_;
  const Options& options_;
  algebra::TermBank& terms_;
  const algebra::Symbols& symbols_;
  const DeviceModel device_;
  const OnnxModel original_;
  const std::vector<InputSet> input_sets_;
  NodeInference inference_;
  CleanedModel cleaned_;
  const SubgraphContext subgraph_context_;
  const OptimizedSubgraphs subgraphs_;
  const OnnxModel& model_;  // cleaned, with optimized subgraphs
  GraphBank bank_;
  const ImportedModel import_;
  Fusion fusion_;
  const std::vector<GivenInputs> given_inputs_;
  const GraphEvaluator::Sizes sizes_;
  const std::unique_ptr<CostSource> cost_source_;
  CostModel cost_;
  const NamedConstants searched_;                 // with the numbers that rules name
  const std::vector<algebra::RuleRecord> rules_;  // specialized to the model
  Matcher matcher_;
  SearchResult found_;
  SelectedModel selected_;
  Summary summary_;
};

void restrict_domains(algebra::Library& library, const Options& options, const ModelFiles& files) {
  std::set<std::string> domains = files.model.domains();
  domains.insert(options.domains.begin(), options.domains.end());
  library.restrict_domains(std::move(domains));
}

Summary run_passes(const Options& options, ModelFiles files, algebra::Library& library, algebra::TermBank& terms,
                   algebra::Symbols& symbols, const std::vector<algebra::RuleRecord>& rules,
                   const std::function<void(const Summary&)>& before_writing) {
  begin_step(options, "importing the model");
  restrict_domains(library, options, files);
  Optimization optimization(options, std::move(files), library, terms, symbols, rules);
  if (!options.explain.empty()) {
    Summary summary;
    summary.explanations = optimization.explain_target();
    return summary;
  }
  begin_step(options, "searching for cheaper graphs");
  optimization.search();
  begin_step(options, "verifying and timing the cheapest graphs");
  optimization.select();
  begin_step(options, "checking the rules that fired");
  if (before_writing) optimization.check_with(before_writing);
  optimization.write();
  return optimization.summary();
}

/// The rules of some databases, with what the search finds by them.
struct SearchedRules {
  std::vector<std::filesystem::path> paths;
  std::vector<RuleDatabase> databases;
  std::vector<algebra::RuleRecord> rules;
  double seconds = 0;  // of the best graph, by the cost model
};

/// Adds a database of rules that are discovered at the costliest places of the best graph, if they lead to a better
/// one.
void add_discovered_rules(SearchedRules& known, const Options& options, const ModelFiles& files,
                          algebra::Library& library, algebra::TermBank& terms, algebra::Symbols& symbols) {
  restrict_domains(library, options, files);
  const auto search = [&](SearchedRules& searched) {
    Optimization optimization(options, files, library, terms, symbols, searched.rules);
    optimization.search();
    searched.seconds = optimization.best().seconds;
    return optimization.profiles();
  };
  begin_step(options, "searching for places without rules");
  const std::filesystem::path found = options.discover(search(known));
  if (found.empty()) return;
  begin_step(options, "searching by the rules found");
  SearchedRules all{known.paths, {}, {}};
  all.paths.push_back(found);
  all.databases = load_databases(all.paths, library, terms, symbols);
  all.rules = join_rules(all.databases);
  search(all);
  if (all.seconds < known.seconds) known = std::move(all);
}

}  // namespace

Summary run(const Options& options) {
  begin_step(options, "reading the model");
  algebra::Library library = algebra::Library::load(options.operators);
  if (options.only_clean) return clean_only(options);
  ModelFiles files = read_model_files(options);
  begin_step(options, "reading the rules");
  algebra::TermBank terms(library);
  algebra::Symbols symbols;
  SearchedRules known{options.rules.empty() ? options.default_rules() : options.rules, {}, {}};
  known.databases = load_databases(known.paths, library, terms, symbols);
  known.rules = join_rules(known.databases);
  if (options.discover) add_discovered_rules(known, options, files, library, terms, symbols);
  const auto check_fired = [&](const Summary& found) {
    if (!options.rule_check) return;
    std::set<std::string> fired;
    for (const Summary::FiredRule& rule : found.fired) fired.insert(rule.id);
    check_fired_rules(known.databases, fired, options.rule_check, library, terms, symbols);
  };
  Summary summary = run_passes(options, std::move(files), library, terms, symbols, known.rules, check_fired);
  summary.rules = runtime::join_text(known.databases, [](const RuleDatabase& each) { return each.file.string(); });
  return summary;
}

Summary run(const Options& options, algebra::Library& library, algebra::TermBank& terms, algebra::Symbols& symbols,
            const std::vector<algebra::RuleRecord>& rules, const std::function<void(const Summary&)>& before_writing) {
  return run_passes(options, read_model_files(options), library, terms, symbols, rules, before_writing);
}

}  // namespace rulemill::optimize
