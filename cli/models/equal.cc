// `rulemill equal BEFORE.onnx AFTER.onnx`: decides whether two models compute the same.
#include "cli/command.h"
#include "cli/model_processes.h"
#include "cli/models/equality_proofs.h"
#include "cli/number_option.h"
#include "optimize/equal/compare_models.h"
#include "optimize/equal/equality_report.h"
#include "runtime/text/error.h"

namespace rulemill::cli {
namespace {

struct EqualOptions {
  std::pair<std::filesystem::path, std::filesystem::path> models;
  std::vector<std::string> rules;
  std::uint32_t inputs = optimize::EqualityOptions().inputs, time_limit = 0;
  std::filesystem::path proof;
};

void compare(Context& context, const EqualOptions& given) {
  if (!context.world.is_root()) return;
  const auto& [before, after] = given.models;
  const Databases databases = find_databases(context, given.rules, {before, after});
  optimize::EqualityOptions options = equality_options(context.options, before, after);
  options.rules = databases.files;
  options.inputs = given.inputs;
  options.time_limit = given.time_limit;
  options.proof = given.proof;
  options.onnxruntime = verifier_command();
  const optimize::EqualityResult result = optimize::compare_models(options);
  context.print(optimize::to_text(result));
  context.report = optimize::to_json(result);
  const std::string failure = optimize::failure_of(result);
  if (!failure.empty()) throw runtime::Error(result.after, failure);
}

}  // namespace

void add_equal(CLI::App& app, Options& options, Command& chosen) {
  auto* equal =
      app.add_subcommand("equal", "Show that two ONNX models compute the same, or find an input that differs");
  auto given = std::make_shared<EqualOptions>();
  options.files.reads(equal->add_option("BEFORE", given->models.first, "model (*.onnx)"), PathKind::Model)->required();
  options.files
      .reads(equal->add_option("AFTER", given->models.second,
                               "model with the same inputs and outputs, such as an optimized one"),
             PathKind::Model)
      ->required();
  add_databases_option(*equal, options, given->rules);
  equal
      ->add_option("--verify-inputs", given->inputs,
                   "number of random inputs on which both are evaluated if they are not shown to be equal")
      ->check(whole_number(1, 1000));
  equal->add_option("--time-limit", given->time_limit, "seconds after which the rest is not shown; default: none")
      ->check(whole_number(1, 1'000'000));
  options.files.writes(
      equal->add_option("--proof", given->proof,
                        "file for a proof that `rulemill check` follows without a search, if equality is shown"));
  add_general_options(*equal, options);
  choose(*equal, chosen, compare, given);
}

}  // namespace rulemill::cli
