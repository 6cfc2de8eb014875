// `rulemill operators import`: an ONNX model, or one of its functions, as the definition of an operator.
#include "algebra/exchange/rule_data.h"
#include "algebra/terms/typing.h"
#include "cli/exchange_process.h"
#include "cli/operators/operator_commands.h"
#include "optimize/equal/model_rule.h"
#include "prove/import_rules.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/scratch_folder.h"
#include "runtime/text/error.h"

namespace rulemill::cli {
namespace {

struct ImportOptions {
  std::filesystem::path model;
  std::string name, function, out;
};

/// The operator applied to the variables, as the source of a rule whose target is the model. Its constants are inputs.
prove::ImportVerdict prove_definition(const std::string& name, const optimize::ModelAsTerms& model,
                                      algebra::Library& library, algebra::TermBank& bank, algebra::Symbols& symbols) {
  algebra::Rule rule = model.rule;
  rule.id = name;
  std::vector<std::uint32_t> ranks;
  for (const algebra::TermId variable : rule.variables) ranks.push_back(bank.term(variable).rank);
  const algebra::NodeId node = bank.apply(library.instantiate(name, {}, ranks).id, rule.variables, {});
  for (std::uint32_t output = 0; output < rule.source.size(); ++output) rule.source[output] = bank.output(node, output);
  return prove::prove_imported_rules({{name, name, std::move(rule), {}}}, library, bank, symbols, {}).at(0);
}

void import(Context& context, const ImportOptions& given) {
  algebra::Library library = load_library(context.options);
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  const runtime::ScratchFolder scratch;
  std::filesystem::path file = given.model;
  std::string name = given.name;
  if (!given.function.empty()) {
    optimize::OnnxModel::read(file);
    file = scratch / "function.onnx";
    ExchangeProcess({{"format", "function"}, {"model", given.model}, {"function", given.function}, {"out", file}},
                    library)
        .result();
  }
  const std::string own = given.function.substr(given.function.rfind(':') + 1);
  if (name.empty()) name = own.empty() ? given.model.stem().string() : own;
  if (library.has_operator(name)) throw runtime::UsageError("--name", name + " is an operator of the definitions");
  const optimize::ModelAsTerms model = optimize::read_model_terms(file, library, bank, symbols);
  const algebra::TypedRule typed = algebra::require_types(model.rule, bank, symbols, given.model.string());
  const runtime::Json written = ExchangeProcess({{"format", "definition"},
                                                 {"name", name},
                                                 {"model", given.model.string()},
                                                 {"function", given.function},
                                                 {"constants", model.constants},
                                                 {"rule", algebra::rule_data(typed, {.bodies = true}, bank, symbols)}},
                                                library)
                                    .result();
  // Both are checked as they are added; the one with constants as inputs is compared with the model.
  library.add(written.at("general").get<std::string>(), given.model.string());
  library.add(written.at("text").get<std::string>(), given.model.string());
  const auto verdict = prove_definition(written.at("general_name").get<std::string>(), model, library, bank, symbols);
  if (verdict.status != prove::RuleStatus::Proved)
    throw runtime::Error(given.model.string(), "its definition is not proved: " + verdict.detail + verdict.rule);
  for (const char* key : {"name", "text", "inputs"}) context.report[key] = written.at(key);
  if (given.out.empty()) return context.print(written.at("text").get<std::string>());
  runtime::write_file(given.out, written.at("text").get<std::string>());
}

}  // namespace

void add_operators_import(CLI::App& operators, Options& options, Command& chosen) {
  auto* importing =
      operators.add_subcommand("import", "Write the definition of an operator that computes what an ONNX model does");
  auto given = std::make_shared<ImportOptions>();
  options.files.reads(importing->add_option("MODEL", given->model, "model (*.onnx)"), PathKind::Model)->required();
  importing->add_option("--name", given->name, "name of the operator; default: that of the file or function");
  importing->add_option("--function", given->function,
                        "function of the model to import, as DOMAIN::NAME, at the types of its first call");
  options.files.writes(importing->add_option("--out", given->out, "file for the definition; default: it is printed"));
  add_general_options(*importing, options);
  choose_on_first_rank(*importing, chosen, import, given);
}

}  // namespace rulemill::cli
