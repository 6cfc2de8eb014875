// `rulemill optimize MODEL.onnx --rules RULES --out FASTER.onnx`: applies a rule database to a model.
#include "optimize/optimize.h"

#include <optional>

#include "cli/command.h"
#include "cli/default_rules.h"
#include "cli/model_processes.h"
#include "cli/number_option.h"
#include "optimize/gpu/executor.h"
#include "runtime/atomic_file.h"
#include "runtime/cache_folder.h"
#include "runtime/error.h"

namespace rulemill::cli {
namespace {

struct Inputs {
  optimize::Options options;
  std::vector<std::string> shapes, rules;
  std::string report;
  std::string judge = "auto";
  std::string search = "saturate";
  std::string cost_table;
  std::optional<double> min_gain;
  bool no_timing = false, strict = false;
};

const std::map<std::string, optimize::SearchKind> searches = {{"saturate", optimize::SearchKind::Saturate},
                                                              {"backtrack", optimize::SearchKind::Backtrack}};

constexpr double least_gain_untimed = 0.05;

/// Whatever is written, the model and its side file stay as they are.
void require_other_file(const std::string& option, const std::filesystem::path& file, std::filesystem::path model) {
  if (file.empty()) return;
  runtime::require_writable_folder(std::filesystem::absolute(file).parent_path());
  std::error_code error;
  if (std::filesystem::equivalent(model, file, error)) {
    throw runtime::UsageError(option, "is the model itself; choose another file");
  }
  model += ".data";
  if (std::filesystem::equivalent(model, file, error)) {
    throw runtime::UsageError(option, "is the model's side file; choose another file");
  }
}

/// Nothing of a run that is stopped is kept.
optimize::Summary optimized(const optimize::Options& options) {
  try {
    return optimize::run(options);
  } catch (const runtime::Interrupted&) {
    throw runtime::Interrupted(options.model.string(),
                               "stopped by signal; nothing is written, and the same command starts anew");
  }
}

void run(Context& context, const Inputs& inputs) {
  // One process searches; other ranks of a larger job have nothing to do.
  if (!context.world.is_root()) return;
  optimize::Options options = inputs.options;
  if (options.cost == "cuda") optimize::gpu::require_gpu();  // before anything that takes long
  options.rules.assign(inputs.rules.begin(), inputs.rules.end());
  if (options.rules.empty()) options.rules = {default_rules(context)};
  options.out = context.options.out;
  options.operators = definitions_folder(context.options);
  options.together = data_folder() / "runtimes" / "onnxruntime.patterns";
  options.search.kind = searches.at(inputs.search);
  options.judge = judge_command(inputs.judge);
  options.type_helper = type_helper_command();
  options.timing.wanted = !inputs.no_timing;
  options.timing.helper = clock_command();
  options.cost_helper = cost_command();
  options.cost_table = inputs.cost_table;
  if (options.cost == "table" && options.cost_table.empty()) {
    throw runtime::UsageError("--cost", "table needs --cost-table FILE");
  }
  if (options.cost == "onnxruntime" && options.cost_table.empty() && !runtime::cache_folder().empty()) {
    options.cost_table = runtime::cache_folder() / ("costs-" + std::to_string(options.timing.threads) + ".h5");
  }
  if (options.cost == "cuda" && options.cost_table.empty() && !runtime::cache_folder().empty()) {
    options.cost_table = runtime::cache_folder();  // a file for each device and version in it
  }
  // Where results are timed, the cost need not be believed.
  options.min_gain = inputs.min_gain.value_or(options.timing.possible() ? 0 : least_gain_untimed);
  for (const std::string& text : inputs.shapes) options.input_shapes.insert(optimize::parse_input_shape(text));
  if (!options.out.empty()) {
    if (std::filesystem::is_directory(options.out)) options.out /= options.model.filename();
  }
  require_other_file("--out", options.out, options.model);
  require_other_file("--report", inputs.report, options.model);
  require_other_file("--json", context.options.json, options.model);
  const optimize::Summary summary = optimized(options);
  if (!options.explain.empty()) return context.print(optimize::to_text(summary.explanations));
  if (!inputs.report.empty()) runtime::write_file(inputs.report, optimize::to_html(summary));
  if (!summary.warning.empty())
    std::fprintf(stderr, "rulemill: warning: %s: %s\n", summary.model.c_str(), summary.warning.c_str());
  context.print(optimize::to_text(summary));
  context.report = optimize::to_json(summary);
  if (inputs.strict && !summary.warning.empty()) throw runtime::Error(summary.model, summary.warning);
}

void add_search_options(CLI::App& command, Inputs& inputs) {
  optimize::Options& o = inputs.options;
  command.add_option("--device", o.device, "device that costs are for")
      ->check([](const std::string& name) {
        for (const std::string& known : optimize::device_names()) {
          if (known == name) return std::string();
        }
        return "unknown device '" + name + "'";
      })
      ->capture_default_str();
  command
      .add_option("--search", inputs.search,
                  "saturate: equality saturation, window by window; backtrack: graph by graph, as TASO and MetaFlow do")
      ->check([](const std::string& name) {
        return searches.contains(name) ? "" : "unknown search '" + name + "': expected saturate or backtrack";
      })
      ->capture_default_str();
  command
      .add_option("--cost", o.cost,
                  "what the search believes: analytic; onnxruntime: its times of single nodes, measured once each; "
                  "cuda: times on this machine's GPU, measured once each; table: what --cost-table has")
      ->check(CLI::IsMember({"analytic", "onnxruntime", "cuda", "table"}))
      ->capture_default_str();
  command.add_option("--cost-table", inputs.cost_table,
                     "file of measured times, of this machine; default: in the user's cache folder");
  command
      .add_option("--alpha", o.search.alpha,
                  "of backtracking: keep graphs that cost less than this times the best so far; 1 is greedy")
      ->check(real_number(1, 10))
      ->capture_default_str();
  command.add_option("--budget", o.search.budget, "of backtracking: graphs that it may make")
      ->check(whole_number(1))
      ->capture_default_str();
  command
      .add_option("--exact", o.search.exact_nodes,
                  "of saturation: e-graphs of so many nodes are extracted by integer programming, too; 0: none")
      ->check(whole_number(0, 100000))
      ->capture_default_str();
  command.add_option("--time-limit", o.search.time_limit, "seconds that the search may take; 0: no limit")
      ->check(real_number(0, 1e9))
      ->capture_default_str();
}

void add_verification_options(CLI::App& command, Inputs& inputs) {
  optimize::Options& o = inputs.options;
  command.add_option("--verify-seeds", o.verify_seeds, "random inputs on which both models are compared")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  command
      .add_option("--own-error", o.acceptance.own_error,
                  "what the result's error against float64 may be: so many times the model's own and a rounding")
      ->check(real_number(0, 1e6))
      ->capture_default_str();
  command
      .add_option("--tolerance", o.acceptance.tolerance,
                  "largest relative difference allowed where no float64 run can judge")
      ->check(real_number(0, 1))
      ->capture_default_str();
  command
      .add_option("--judge", inputs.judge,
                  "auto: onnxruntime too, where $RULEMILL_PYTHON, the installed environment or "
                  "python3 has it; definitions: these alone")
      ->check(CLI::IsMember({"auto", "definitions"}))
      ->capture_default_str();
  command
      .add_option("--min-gain", inputs.min_gain,
                  "share of the cost that must go for a result to be tried; 0 where results are timed, otherwise 0.05")
      ->check(real_number(0, 1));
}

void add_timing_options(CLI::App& command, Inputs& inputs) {
  optimize::Options& o = inputs.options;
  auto* no_timing =
      command.add_flag("--no-timing", inputs.no_timing, "believe the cost: do not run the results against the model");
  command
      .add_option("--time-with", o.timing.command,
                  "a shell command that gets a model's path and prints milliseconds of one run, instead of onnxruntime")
      ->check([](const std::string& text) {
        return text.find_first_not_of(" \t") == std::string::npos ? "expected a command" : std::string();
      })
      ->excludes(no_timing);
  command.add_option("--timing-threads", o.timing.threads, "threads of onnxruntime while it times models and nodes")
      ->check(whole_number(1, 1024))
      ->capture_default_str();
  command.add_option("--timing-seconds", o.timing.seconds, "seconds for running models in turns")
      ->check(real_number(0.1, 3600))
      ->capture_default_str();
  command
      .add_option("--timing-limit", o.timing.patience,
                  "seconds after which one run of --time-with, or all of onnxruntime's timing, has failed")
      ->check(real_number(0.1, 86400))
      ->capture_default_str();
}

}  // namespace

void add_optimize(CLI::App& app, Options& options, Command& chosen) {
  auto* optimize = app.add_subcommand("optimize", "Make an ONNX model faster by the rules of a database");
  auto inputs = std::make_shared<Inputs>();
  optimize->add_option("MODEL", inputs->options.model, "the model (*.onnx)")->required();
  optimize
      ->add_option("--rules", inputs->rules,
                   "rule databases (rules.rmdb), or output folders with one; may be given again; "
                   "default: what data/profiles/models gives, found on first use")
      ->allow_extra_args(false);
  optimize->add_option("--out", options.out, "where to write the result; without it only the report is made");
  add_search_options(*optimize, *inputs);
  add_verification_options(*optimize, *inputs);
  add_timing_options(*optimize, *inputs);
  optimize->add_flag("--strict", inputs->strict, "end with 1 where a warning says that a cheaper model was not taken");
  optimize->add_option(
      "--explain", inputs->options.explain,
      "a rule's id or the name of a node: why the rule, or any, did not fire there; nothing is searched");
  optimize->add_option("--report", inputs->report,
                       "an HTML page: table, rules, pictures of the graph before and after");
  optimize->add_option("--input-shape", inputs->shapes,
                       "name:1x3x224x224, where the model leaves an input's shape open");
  add_definitions_option(*optimize, options);
  add_common_options(*optimize, options);
  add_type_helper(app, chosen);
  optimize->callback([inputs, &chosen] { chosen = [inputs](Context& context) { run(context, *inputs); }; });
}

}  // namespace rulemill::cli
