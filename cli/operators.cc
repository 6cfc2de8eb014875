// `rulemill operators list|check`: what the definitions define.
#include "algebra/terms/rule_text.h"
#include "cli/command.h"
#include "cli/model_processes.h"
#include "cli/text_table.h"
#include "optimize/onnx/mapping_check.h"
#include "prove/prover.h"
#include "runtime/atomic_file.h"
#include "runtime/error.h"
#include "runtime/joined.h"

namespace rulemill::cli {
namespace {

void list(Context& context) {
  const algebra::Library library = load_library(context.options);
  TextTable table({"operator", "inputs", "sizes", "parameters", "digest"});
  for (const std::string& name : library.operator_names()) {
    const auto sizes = library.size_parameter_names(name);
    const auto parameters = library.parameter_names(name);
    table.add({name, std::to_string(library.arity(name)), runtime::joined(sizes), runtime::joined(parameters),
               library.digest(name)});
    context.report["operators"].push_back({{"name", name},
                                           {"inputs", library.arity(name)},
                                           {"sizes", sizes},
                                           {"parameters", parameters},
                                           {"assumed_laws", library.assumed_laws(name)},
                                           {"digest", library.digest(name)}});
  }
  context.print(table.text());
}

/// Proves or refutes every property of the file. Returns how many do not hold.
std::size_t check_properties(Context& context, const std::string& file, algebra::Library& library) {
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  prove::Prover prover(bank, symbols);
  std::size_t wrong = 0;
  TextTable table({"property", "verdict", "condition, counterexample or reason"});
  for (const algebra::Rule& rule : algebra::parse_rules(runtime::read_file(file), file, library, bank, symbols)) {
    const prove::Verdict verdict = prover.prove(rule);
    std::string detail;
    if (const auto* proved = std::get_if<prove::Proved>(&verdict)) {
      for (const auto& c : proved->found) detail += (detail.empty() ? "when " : ", ") + algebra::to_string(c, symbols);
    } else if (const auto* refuted = std::get_if<prove::Refuted>(&verdict)) {
      detail = prove::to_string(refuted->counterexample);
    } else if (const auto* unknown = std::get_if<prove::Unknown>(&verdict)) {
      detail = unknown->reason;
    } else {
      detail = std::get<prove::IllTyped>(verdict).what;
    }
    wrong += std::holds_alternative<prove::Proved>(verdict) ? 0 : 1;
    table.add({rule.id, prove::name(verdict), detail});
    context.report["properties"].push_back({{"name", rule.id}, {"verdict", prove::name(verdict)}, {"detail", detail}});
  }
  context.print(table.text());
  return wrong;
}

/// Every ONNX mapping against onnxruntime. Returns how many differ.
std::size_t check_onnx(Context& context, algebra::Library& library, int trials, std::uint64_t seed) {
  optimize::MappingCheckOptions options;
  options.command = cases_command();
  options.trials = trials;
  options.seed = seed;
  if (options.command.empty())
    throw runtime::Error("operators check --onnx", "no Python with onnxruntime was found; RULEMILL_PYTHON names one");
  std::string judge;
  const auto reports = optimize::check_mappings(library, options, judge);
  TextTable table({"operator", "ONNX", "nodes", "not run", "result"});
  std::size_t wrong = 0, agreed = 0, untried = 0;
  for (const optimize::MappingReport& report : reports) {
    wrong += report.difference.empty() ? 0 : 1;
    agreed += static_cast<std::size_t>(report.agreed);
    untried += report.tried() ? 0 : 1;
    const std::string result = !report.difference.empty() ? "differs: " + report.difference
                               : report.tried()           ? "agrees"
                               : report.refused > 0       ? "not tried: " + report.refusal
                                                          : "not tried: no node was found";
    if (!report.difference.empty() || !report.tried())
      table.add({report.operator_name, report.op_type + " (" + std::to_string(report.number + 1) + ")",
                 std::to_string(report.agreed), std::to_string(report.refused), result});
    context.report["mappings"].push_back({{"operator", report.operator_name},
                                          {"op_type", report.op_type},
                                          {"number", report.number + 1},
                                          {"agreed", report.agreed},
                                          {"refused", report.refused},
                                          {"difference", report.difference},
                                          {"refusal", report.refusal}});
  }
  if (!table.empty()) context.print(table.text());
  context.print(std::to_string(reports.size()) + " ONNX mappings against " + judge + ": " + std::to_string(agreed) +
                " nodes agree, " + std::to_string(wrong) + " mappings differ, " + std::to_string(untried) +
                " could not be tried\n");
  return wrong;
}

struct CheckOptions {
  std::vector<std::string> files;
  bool onnx = false;
  int trials = 6;
};

/// Loading checks everything: every operator is expanded for every value of its finite parameters.
void check(Context& context, const CheckOptions& asked) {
  algebra::Library library = load_library(context.options);
  const auto folder = std::filesystem::weakly_canonical(definitions_folder(context.options));
  std::vector<std::string> properties;
  for (const std::string& file : asked.files) {
    if (file.ends_with(".properties")) {
      properties.push_back(file);
      continue;
    }
    const std::string text = runtime::read_file(file);
    if (std::filesystem::weakly_canonical(file).parent_path() != folder) library.add(text, file);
  }
  context.report = {{"operators", library.operator_names().size()},
                    {"functions", library.functions().size()},
                    {"digest", library.digest()}};
  context.print(std::to_string(library.operator_names().size()) + " operators and " +
                std::to_string(library.functions().size()) + " functions are well-formed; digest " + library.digest() +
                "\n");
  for (const algebra::Function& function : library.functions()) {
    for (const std::string& law : function.assumed) {
      context.print("assumed, since it held wherever it was tried, not proved: " + law + "\n");
      context.report["assumed_laws"].push_back(law);
    }
  }
  std::size_t wrong = 0;
  on_first_rank(context.world, [&] {
    for (const std::string& file : properties) wrong += check_properties(context, file, library);
    if (wrong > 0) throw runtime::Error("operators check", std::to_string(wrong) + " properties are not proved");
    if (asked.onnx) wrong = check_onnx(context, library, asked.trials, 1);
    if (wrong > 0) throw runtime::Error("operators check --onnx", std::to_string(wrong) + " mappings differ");
  });
}

}  // namespace

void add_operators(CLI::App& app, Options& options, Command& chosen) {
  auto* operators = app.add_subcommand("operators", "Operator definitions");
  operators->require_subcommand(1);
  auto* listing = operators->add_subcommand("list", "List the operators that are defined");
  add_definitions_option(*listing, options);
  add_common_options(*listing, options);
  listing->callback([&chosen] { chosen = list; });

  auto* checking = operators->add_subcommand("check", "Check definitions, and say where one is wrong");
  auto asked = std::make_shared<CheckOptions>();
  checking->add_flag("--onnx", asked->onnx, "run every ONNX mapping on random nodes in onnxruntime, and compare");
  checking->add_option("--trials", asked->trials, "random nodes for each mapping")->check(CLI::Range(1, 10000));
  checking->add_option("FILE", asked->files,
                       "definitions (*.op) beside those of --definitions, or properties (*.properties) to prove");
  add_definitions_option(*checking, options);
  add_common_options(*checking, options);
  checking->callback([asked, &chosen] { chosen = [asked](Context& context) { check(context, *asked); }; });
}

}  // namespace rulemill::cli
