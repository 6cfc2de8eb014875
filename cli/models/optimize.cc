// `rulemill optimize MODEL.onnx --rules RULES --out FASTER.onnx`: applies a rule database to a model.
#include "optimize/optimize.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <string>

#include "cli/command.h"
#include "cli/model_processes.h"
#include "cli/models/equality_proofs.h"
#include "cli/number_option.h"
#include "cli/rules/default_rules.h"
#include "cli/rules/model_rules.h"
#include "cli/rules/rule_database.h"
#include "cli/shipped_files.h"
#include "cli/step_progress.h"
#include "optimize/cost/calibration.h"
#include "optimize/cost/device_model.h"
#include "optimize/equal/equality_report.h"
#include "optimize/gpu/device/gpu_timer.h"
#include "optimize/gpu/device/plan_executor.h"
#include "optimize/report/report.h"
#include "optimize/verify/onnxruntime.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/cache_folder.h"
#include "runtime/text/error.h"

namespace rulemill::cli {
namespace {

struct OptimizeOptions {
  optimize::Options options;
  std::vector<std::string> shapes, rules, inputs;
  std::string report, proof;
  std::string verifier = "auto";
  std::string runtime = "any", provider = "cpu";
  std::string search = "saturate";
  std::string cost_table;
  std::optional<double> min_gain;
  bool no_benchmark = false, strict = false;
  bool discover = false;
  double discover_seconds = 60;
  std::string keep_rules;
};

const std::map<std::string, optimize::SearchMethod> searches = {{"saturate", optimize::SearchMethod::Saturation},
                                                                {"backtrack", optimize::SearchMethod::Backtracking}};

constexpr double min_gain_without_benchmark = 0.05;

/// Domains of the operators that each runtime has besides those of ONNX.
const std::map<std::string, std::set<std::string>> runtime_domains = {
    {"any", {}}, {"onnxruntime", {"com.microsoft"}}, {"openvino", {}}, {"torch", {"rulemill.torch"}}};

/// Keeps measured costs in the user's cache folder unless a table is given.
void set_cached_cost_table(optimize::Options& options) {
  const bool is_measured = options.cost.source == "onnxruntime" || options.cost.source == "cuda";
  if (!is_measured || !options.cost.table.empty()) return;
  const std::filesystem::path folder = runtime::writable_cache_folder();
  if (folder.empty()) return;
  options.cost.table = folder;  // cuda: with a file for each device and version
  if (options.cost.source == "onnxruntime")
    options.cost.table /= "costs-" + std::to_string(options.benchmark.threads) + ".h5";
}

optimize::Summary optimize_model(optimize::Options& options, const OptimizeOptions& given, const Context& context,
                                 std::vector<DefaultRules>& defaults, ModelRules& discovered) {
  StepProgress progress(context.progress, options.model.filename().string());
  options.on_step = [&](const std::string& step) { progress.begin(step); };
  if (given.discover) {
    options.discover = [&](const std::vector<optimize::WindowProfile>& profiles) {
      discovered = discover_model_rules(profiles, context.options, given.discover_seconds, options.on_step);
      return discovered.database;
    };
  }
  options.default_rules = [&] {
    progress.clear();
    defaults = {default_rules(context)};
    if (auto more = runtime_rules(context, given.runtime)) defaults.push_back(std::move(*more));
    std::vector<std::filesystem::path> databases;
    for (const DefaultRules& each : defaults) databases.push_back(each.database);
    return databases;
  };
  try {
    return optimize::run(options);
  } catch (const runtime::Interrupted&) {
    throw runtime::Interrupted(options.model.string(),
                               "stopped by signal; nothing was written, and the same command starts over");
  }
}

void run(Context& context, const OptimizeOptions& given) {
  // Only one process searches.
  if (!context.world.is_root()) return;
  optimize::Options options = given.options;
  if (options.cost.source == "cuda") optimize::gpu::require_gpu();  // fail early
  if (given.provider != "cpu" && given.runtime != "onnxruntime") {
    throw runtime::UsageError("--provider", given.provider + " needs --runtime onnxruntime");
  }
  const bool is_other = given.runtime == "openvino" || given.runtime == "torch";
  if (is_other || given.provider != "cpu") {
    const std::string& runtime = is_other ? given.runtime : given.provider;
    optimize::require_runtime(verifier_command(), runtime, is_other ? "--runtime" : "--provider");
    options.verification.runtime = options.benchmark.runtime = runtime;
  }
  options.rules.assign(given.rules.begin(), given.rules.end());
  options.version = RULEMILL_VERSION;
  options.rule_check = require_valid_certificates;
  options.out = context.options.out;
  options.operators = definitions_folder(context.options);
  options.runtime_fusions = data_folder() / "runtimes" / "onnxruntime.patterns";
  options.calibration = optimize::calibration_file(data_folder() / "runtimes", given.runtime);
  options.domains = runtime_domains.at(given.runtime);
  options.search.method = searches.at(given.search);
  std::vector<DefaultRules> defaults;  // keeps databases that are made for this run only
  ModelRules discovered;
  const auto databases = [&] {
    std::vector<std::filesystem::path> all = options.rules;
    for (const DefaultRules& each : defaults) all.push_back(each.database);
    if (!discovered.database.empty()) all.push_back(discovered.database);
    return all;
  };
  options.verification.definitions_only = given.verifier == "definitions";
  if (!options.verification.definitions_only) options.verification.onnxruntime = verifier_command();
  if (given.verifier == "rules") {
    options.verification.by_rules = equality_verifier(databases, context.options);
  }
  options.type_helper = type_helper_command();
  options.benchmark.enabled = !given.no_benchmark;
  options.benchmark.helper = benchmark_command();
  options.cost.helper = node_costs_command();
  if (options.cost.source == "cuda") {
    options.benchmark.open_timer = [&options](const std::vector<std::filesystem::path>& models) {
      const optimize::gpu::GpuTimerOptions timing{options.operators, options.type_helper, options.input_shapes,
                                                  optimize::find_device("h100")};
      return optimize::gpu::gpu_timer(optimize::gpu::PlanExecutor::open(), models, timing);
    };
  }
  options.cost.table = given.cost_table;
  if (options.cost.source == "table" && options.cost.table.empty()) {
    throw runtime::UsageError("--cost", "table needs --cost-table FILE");
  }
  set_cached_cost_table(options);
  // A benchmark makes up for errors of the cost model.
  options.min_gain = given.min_gain.value_or(options.benchmark.is_possible() ? 0 : min_gain_without_benchmark);
  options.inputs.assign(given.inputs.begin(), given.inputs.end());
  for (const std::string& text : given.shapes) options.input_shapes.insert(optimize::parse_input_shape(text));
  if (!options.out.empty()) {
    if (std::filesystem::is_directory(options.out)) options.out /= options.model.filename();
  }
  for (const std::filesystem::path& file :
       {options.out, std::filesystem::path(given.report), std::filesystem::path(given.proof)}) {
    if (!file.empty()) require_writable(file);
  }
  if (!given.proof.empty() && options.out == "-")
    throw runtime::UsageError("--proof", "needs a result in a file, found --out -");
  const std::filesystem::path kept =
      given.keep_rules.empty() ? std::filesystem::path() : writable_database(given.keep_rules);
  if (!given.proof.empty()) options.result_proof = searched_proof;
  const optimize::Summary summary = optimize_model(options, given, context, defaults, discovered);
  if (!options.explain.empty()) {
    context.report = {{"explanations", optimize::to_json(summary.explanations)}};
    return context.print(optimize::to_text(summary.explanations));
  }
  if (!given.report.empty()) write_page(given.report, "report", optimize::page_data(summary));
  if (!summary.warning.empty() && !context.options.quiet)
    std::fprintf(stderr, "rulemill: warning: %s: %s\n", summary.model.c_str(), summary.warning.c_str());
  context.print(optimize::to_text(summary));
  context.report = optimize::to_json(summary);
  if (given.discover) {
    const ModelRules& found = discovered;
    context.print(fmt::format("discovered: rules at {} of {} places, {} tried, {:.0f} s\n",
                              found.database.empty() ? 0 : found.with_rules, found.places.size(), found.tried,
                              found.seconds));
    context.report["discovered"] = {
        {"places", found.places}, {"tried", found.tried}, {"with_rules", found.with_rules}, {"seconds", found.seconds}};
    if (!kept.empty() && !found.database.empty()) runtime::write_file(kept, runtime::read_file(found.database));
  }
  if (!given.proof.empty()) {
    const optimize::EqualityResult shown =
        prove_result(context.options, options.model, options.out, databases(), given.proof, summary.proof);
    context.print(optimize::written_proof_text(shown));
    context.report["proof"] = {{"bytes", shown.proof_bytes}, {"gap", shown.proof_gap}, {"seconds", shown.seconds}};
  }
  if (given.strict && !summary.warning.empty()) throw runtime::Error(summary.model, summary.warning);
}

void add_search_options(CLI::App& command, Options& options, OptimizeOptions& given) {
  optimize::Options& o = given.options;
  command.add_option("--device", o.cost.device, "device model of the costs")
      ->check(one_of("device", optimize::device_names()));
  command
      .add_option("--search", given.search,
                  "saturate: equality saturation of one window at a time; backtrack: search over graphs, as TASO and "
                  "MetaFlow do")
      ->check(one_of("search", {"saturate", "backtrack"}));
  command
      .add_option("--cost", o.cost.source,
                  "cost model: analytic (roofline); onnxruntime or cuda: measured time of each node, on this machine's "
                  "CPU or GPU; table: times in --cost-table")
      ->check(one_of("cost model", {"analytic", "onnxruntime", "cuda", "table"}));
  options.files.updates(command.add_option(
      "--cost-table", given.cost_table, "file of times measured on this machine; default: in the user's cache folder"));
  command
      .add_option("--runtime", given.runtime,
                  "runtime that will run the result: any; onnxruntime, whose own operators (domain com.microsoft) "
                  "are then used where they are cheaper; openvino or torch, in which models are then compared (a "
                  "result for torch may have operators that rulemill.torch alone reads)")
      ->check(one_of("runtime", {"any", "onnxruntime", "openvino", "torch"}));
  command
      .add_option(
          "--provider", given.provider,
          "execution provider of onnxruntime in which models are compared and timed (with --runtime onnxruntime)")
      ->check(one_of("provider", {"cpu", "cuda", "tensorrt"}));
  command
      .add_option("--alpha", o.search.alpha,
                  "backtracking: keep graphs that cost less than this factor times the best so far; 1: greedy")
      ->check(real_number(1, 10));
  command.add_option("--budget", o.search.budget, "backtracking: maximum number of graphs")->check(whole_number(1));
  command
      .add_option("--effort", o.search.effort,
                  "saturation: multiplies the limits of each window, on nodes of its e-graph, iterations and matches")
      ->check(whole_number(1, 1000));
  command
      .add_option("--ilp-max-nodes", o.search.ilp_max_nodes,
                  "saturation: solve extraction exactly (ILP) for e-graphs of up to this many nodes; 0: never")
      ->check(whole_number(0, 100000));
  command.add_option("--time-limit", o.search.time_limit, "time limit of the search, seconds; 0: no limit")
      ->check(real_number(0, 1e9));
}

void add_verification_options(CLI::App& command, OptimizeOptions& given) {
  optimize::Options& o = given.options;
  command
      .add_option("--verify-inputs", o.verification.inputs, "number of random inputs on which both models are compared")
      ->check(whole_number(1, 1000));
  command
      .add_option(
          "--max-error-ratio", o.verification.accuracy.max_error_ratio,
          "maximum error relative to float64, as a multiple of the original model's error plus one rounding unit")
      ->check(real_number(0, 1e6));
  command
      .add_option("--tolerance", o.verification.accuracy.tolerance,
                  "maximum relative difference where float64 cannot be evaluated")
      ->check(real_number(0, 1));
  command
      .add_option("--verifier", given.verifier,
                  "auto: the definitions and onnxruntime, if $RULEMILL_PYTHON, the installed environment or python3 "
                  "has it; definitions: only these; rules: first whether rules show that the result is equal, as "
                  "`rulemill equal` "
                  "does; if they do, neither model runs on random inputs")
      ->check(one_of("verifier", {"auto", "definitions", "rules"}));
  command
      .add_option("--min-gain", given.min_gain,
                  "minimum fraction of the cost that a result must save; default: 0 with a benchmark, otherwise 0.05")
      ->check(real_number(0, 1));
}

void add_benchmark_options(CLI::App& command, OptimizeOptions& given) {
  optimize::Options& o = given.options;
  auto* no_benchmark =
      command.add_flag("--no-benchmark", given.no_benchmark, "rely on the cost model; do not time the results");
  command
      .add_option("--benchmark-command", o.benchmark.command,
                  "shell command that times a model instead of onnxruntime: gets its path and prints the milliseconds "
                  "of one run")
      ->check([](const std::string& text) {
        return text.find_first_not_of(" \t") == std::string::npos ? "expected a command" : std::string();
      })
      ->excludes(no_benchmark);
  command.add_option("--benchmark-threads", o.benchmark.threads, "threads of onnxruntime when timing models and nodes")
      ->check(whole_number(1, 1024));
  command
      .add_option("--benchmark-seconds", o.benchmark.seconds,
                  "duration of timing the models in turns, seconds; more if the rounds of a test take longer")
      ->check(real_number(0.1, 3600));
  command
      .add_option("--benchmark-timeout", o.benchmark.timeout,
                  "time limit of one run of --benchmark-command, or of one model in onnxruntime, seconds; extended for "
                  "models whose runs were found to take longer")
      ->check(real_number(0.1, 86400));
}

}  // namespace

void add_optimize(CLI::App& app, Options& options, Command& chosen) {
  auto* optimize = app.add_subcommand("optimize", "Optimize an ONNX model with the rules of databases");
  auto given = std::make_shared<OptimizeOptions>();
  options.files
      .reads(optimize->add_option("MODEL", given->options.model, "model to optimize (*.onnx)"), PathKind::Model)
      ->required();
  add_databases_option(*optimize, options, given->rules);
  options.files.writes(optimize->add_option("--out", options.out,
                                            "file or folder for the result; - means standard output; default: only "
                                            "report"),
                       PathKind::NewModel);
  add_search_options(*optimize, options, *given);
  add_verification_options(*optimize, *given);
  add_benchmark_options(*optimize, *given);
  optimize
      ->add_flag("--only-clean", given->options.only_clean,
                 "only fold constants and remove identities, duplicates and unused nodes; needs no rules")
      ->excludes("--rules");
  auto* discover =
      optimize
          ->add_flag("--discover", given->discover,
                     "discover rules that the databases lack at the model's costliest places, and use them, too")
          ->excludes("--only-clean");
  optimize
      ->add_option("--discover-seconds", given->discover_seconds, "time for --discover, seconds; longer with a proof")
      ->check(real_number(1, 86400))
      ->needs(discover);
  options.files
      .writes(optimize->add_option("--keep-rules", given->keep_rules,
                                   "database for the rules that --discover finds (*.rmdb), or a folder for rules.rmdb"),
              PathKind::NewDatabase)
      ->needs(discover);
  optimize->add_flag("--strict", given->strict, "exit with code 1 if a cheaper model was found but not used");
  optimize
      ->add_option("--explain", given->options.explain,
                   "explain why this rule (by id), or every rule at this node (by name), did not apply; do not search")
      ->excludes("--discover");
  options.files.writes(optimize->add_option(
      "--report", given->report, "write an HTML page with a table, the rules, and the graph before and after"));
  auto* input_shape =
      optimize
          ->add_option("--input-shape", given->shapes,
                       "shape of an input with dynamic dimensions, such as name:1x3x224x224; may be repeated")
          ->allow_extra_args(false);
  options.files
      .reads(optimize->add_option(
          "--inputs", given->inputs,
          "values of all inputs, on which models are compared and timed, besides random ones: a NumPy archive "
          "(*.npz), or a folder of ONNX test data (input_0.pb, or test_data_set_*); may be repeated"))
      ->allow_extra_args(false)
      ->excludes(input_shape);
  options.files
      .writes(optimize->add_option("--proof", given->proof,
                                   "file for a proof that the result equals the model, for `rulemill check`"))
      ->needs("--out");
  add_general_options(*optimize, options);
  add_type_helper(app, chosen);
  choose(*optimize, chosen, run, given);
}

}  // namespace rulemill::cli
