// `rulemill variants MODEL.onnx --count N --seed S --out DIR`: random models that are proved to be equal to a model.
#include <fmt/format.h>

#include <set>

#include "cli/command.h"
#include "cli/model_processes.h"
#include "cli/models/equality_proofs.h"
#include "cli/number_option.h"
#include "cli/rules/rule_database.h"
#include "cli/step_progress.h"
#include "optimize/onnx/format/model.h"
#include "optimize/optimize.h"
#include "runtime/files/scratch_folder.h"
#include "runtime/text/error.h"
#include "runtime/text/hash.h"

namespace rulemill::cli {
namespace {

struct VariantsOptions {
  std::filesystem::path model;
  std::vector<std::string> rules;
  std::uint32_t count = 10;
};

/// Searches per variant: others find a known one, or none that has a proof.
constexpr std::uint32_t searches_per_variant = 8;

/// Of the model without its provenance, which tells how often rules were applied.
runtime::Hash128 graph_digest(const std::filesystem::path& file) {
  optimize::OnnxModel model = optimize::OnnxModel::read(file);
  model.set_metadata("rulemill.rules", "");
  return runtime::hash128(runtime::bytes_of(model.serialize()));
}

optimize::Options random_search(const Context& context, const VariantsOptions& given, const Databases& databases) {
  optimize::Options options;
  options.model = given.model;
  options.rules = databases.files;
  options.rule_check = require_valid_certificates;
  options.operators = definitions_folder(context.options);
  options.type_helper = type_helper_command();
  options.version = RULEMILL_VERSION;
  options.cost.source = "random";
  options.min_gain = 0;
  options.verification.definitions_only = true;
  options.benchmark.enabled = false;
  options.result_proof = searched_proof;
  return options;
}

/// Writes a proof and follows it. Returns false if there is none.
bool is_proved(const Context& context, const optimize::Options& search, const std::filesystem::path& proof,
               const std::string& searched_proof) {
  if (prove_result(context.options, search.model, search.out, search.rules, proof, searched_proof).proof_bytes == 0)
    return false;
  optimize::follow_proof(equality_options(context.options, search.model, search.out), proof);
  return true;
}

void run(Context& context, const VariantsOptions& given) {
  if (!context.world.is_root()) return;
  const std::filesystem::path folder = context.options.out;
  if (std::filesystem::exists(folder) && !std::filesystem::is_empty(folder))
    throw runtime::UsageError("--out", folder.string() + " exists; expected a new or empty folder");
  const Databases databases = find_databases(context, given.rules, {given.model});
  optimize::Options search = random_search(context, given, databases);
  std::filesystem::create_directories(folder);
  std::set<runtime::Hash128> known;
  StepProgress progress(context.progress, given.model.filename().string());
  runtime::Json& found = context.report["variants"] = runtime::Json::array();
  const std::uint64_t max_searches = std::uint64_t{given.count} * searches_per_variant;
  for (std::uint64_t i = 0; i < max_searches && found.size() < given.count; ++i) {
    progress.begin(fmt::format("search {}", i + 1));
    const runtime::ScratchFolder scratch(folder);
    const std::string name = fmt::format("variant_{}", found.size() + 1);
    search.out = scratch / (name + ".onnx");
    search.cost.seed = (context.options.seed.value_or(0) << 32) + i;
    const optimize::Summary summary = optimize::run(search);
    const bool is_new = !summary.fired.empty() && known.insert(graph_digest(search.out)).second;
    if (!is_new || !is_proved(context, search, scratch / (name + ".proof"), summary.proof)) continue;
    for (const auto& file : std::filesystem::directory_iterator(scratch.path())) {
      if (file.path().filename().string().starts_with(name))
        std::filesystem::rename(file.path(), folder / file.path().filename());
    }
    found.push_back({{"file", name + ".onnx"}, {"rules", runtime::Json::array()}});
    for (const auto& fired : summary.fired) found.back()["rules"].push_back(fired.id);
  }
  if (found.empty()) throw runtime::Error(given.model, "no variant with a proof was found");
  context.print(fmt::format("{} of {} variants\n", found.size(), given.count));
}

}  // namespace

void add_variants(CLI::App& app, Options& options, Command& chosen) {
  auto* variants =
      app.add_subcommand("variants", "Write random models that are proved equal to a model, to test others");
  auto given = std::make_shared<VariantsOptions>();
  options.files.reads(variants->add_option("MODEL", given->model, "model (*.onnx)"), PathKind::Model)->required();
  add_databases_option(*variants, options, given->rules);
  variants->add_option("--count", given->count, "number of different variants")->check(whole_number(1, 100000));
  variants->add_option("--seed", options.seed, "seed of the variants; default: 0")->check(whole_number(0, 0xffffffff));
  options.files
      .writes(variants->add_option("--out", options.out,
                                   "new or empty folder for variant_1.onnx, its proof variant_1.proof, …"),
              PathKind::Folder)
      ->required();
  add_general_options(*variants, options);
  choose(*variants, chosen, run, given);
}

}  // namespace rulemill::cli
