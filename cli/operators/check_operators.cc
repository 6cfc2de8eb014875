// `rulemill operators check`: checks definitions, their properties and their ONNX mappings.
#include "algebra/terms/rule_text.h"

#include <fmt/format.h>
#include "cli/command.h"
#include "cli/model_processes.h"
#include "cli/number_option.h"
#include "cli/operators/operator_commands.h"
#include "cli/text_table.h"
#include "optimize/onnx/mapping_check.h"
#include "prove/import_rules.h"
#include "prove/prover/prover.h"
#include "runtime/files/atomic_file.h"
#include "runtime/text/error.h"

namespace rulemill::cli {
namespace {

/// Proves or refutes every property of the file. Returns the number of those not proved. Throws InputError if one is
/// ill-typed.
std::size_t check_properties(Context& context, const std::string& file, algebra::Library& library) {
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  prove::Prover prover(bank, symbols);
  std::size_t not_proved = 0;
  std::string ill_typed;
  std::vector<prove::NamedCounterexample> counterexamples;
  TextTable table({"property", "verdict", "condition, counterexample or reason"});
  for (const algebra::Rule& rule : algebra::parse_rules(runtime::read_file(file), file, library, bank, symbols)) {
    const prove::Verdict verdict = prover.prove(rule);
    const prove::RuleStatus status = prove::status_of_statement(verdict);
    std::string detail = prove::detail(verdict);
    if (const std::string condition = prove::describe_condition(verdict, bank, symbols); !condition.empty())
      detail = condition;
    not_proved += status == prove::RuleStatus::Proved ? 0 : 1;
    if (status == prove::RuleStatus::IllTyped && ill_typed.empty())
      ill_typed = "property " + rule.id + " is ill-typed: " + detail;
    table.add({rule.id, prove::name(status), detail});
    context.report["properties"].push_back({{"name", rule.id}, {"verdict", prove::name(status)}, {"detail", detail}});
    if (const auto* refuted = std::get_if<prove::Refuted>(&verdict)) {
      context.report["properties"].back()["counterexample"] = prove::to_json(refuted->counterexample);
      counterexamples.push_back({rule.id, refuted->counterexample});
    }
  }
  context.print(table.text(context.uses_colours()) + prove::numpy_text(counterexamples));
  if (!ill_typed.empty()) throw runtime::InputError(file, ill_typed);
  return not_proved;
}

/// Compares every ONNX mapping with onnxruntime. Returns the number of those that differ.
std::size_t check_onnx(Context& context, algebra::Library& library, int trials, std::uint64_t seed) {
  optimize::MappingCheckOptions options;
  options.command = node_runner_command();
  options.trials = trials;
  options.seed = seed;
  if (options.command.empty())
    throw runtime::Error("operators check --onnx", "no Python with onnxruntime found; set RULEMILL_PYTHON");
  std::string runtime_version;
  const auto reports = optimize::check_mappings(library, options, runtime_version);
  TextTable table({"operator", "ONNX", "nodes", "rejected", "result"});
  std::size_t differing = 0, agreed = 0, not_compared = 0;
  for (const optimize::MappingReport& report : reports) {
    differing += report.difference.empty() ? 0 : 1;
    agreed += static_cast<std::size_t>(report.agreed);
    not_compared += report.was_compared() ? 0 : 1;
    const std::string result = !report.difference.empty() ? "differs: " + report.difference
                               : report.was_compared()    ? "agrees"
                               : report.rejection.empty() ? "not compared: no node was found"
                                                          : "not compared: " + report.rejection;
    if (!report.difference.empty() || !report.was_compared())
      table.add({report.operator_name, report.op_type + " (" + std::to_string(report.index + 1) + ")",
                 std::to_string(report.agreed), std::to_string(report.rejected), result});
    context.report["mappings"].push_back({{"operator", report.operator_name},
                                          {"op_type", report.op_type},
                                          {"number", report.index + 1},
                                          {"agreed", report.agreed},
                                          {"rejected", report.rejected},
                                          {"difference", report.difference},
                                          {"rejection", report.rejection}});
  }
  if (!table.empty()) context.print(table.text());
  context.print(
      fmt::format("{} ONNX mappings compared with {}: {} nodes agree, {} mappings differ, {} could not be compared\n",
                  reports.size(), runtime_version, agreed, differing, not_compared));
  return differing;
}

struct OperatorCheckOptions {
  std::vector<std::string> files;
  bool onnx = false;
  int trials = 6;
};

/// Loading checks the definitions: it expands every operator for every value of its enum parameters.
void check(Context& context, const OperatorCheckOptions& given) {
  algebra::Library library = load_library(context.options);
  const auto folder = std::filesystem::weakly_canonical(definitions_folder(context.options));
  std::vector<std::string> properties;
  for (const std::string& file : given.files) {
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
    for (const std::string& law : function.assumed_laws) {
      context.print("assumed, tested but not proved: " + law + "\n");
      context.report["assumed_laws"].push_back(law);
    }
  }
  std::size_t failures = 0;
  runtime::on_first_rank(context.world, [&] {
    for (const std::string& file : properties) failures += check_properties(context, file, library);
    if (failures > 0) throw runtime::Error("operators check", std::to_string(failures) + " properties are not proved");
    if (given.onnx) failures = check_onnx(context, library, given.trials, 1);
    if (failures > 0) throw runtime::Error("operators check --onnx", std::to_string(failures) + " mappings differ");
  });
}

}  // namespace

void add_operators_check(CLI::App& operators, Options& options, Command& chosen) {
  auto* checking = operators.add_subcommand("check", "Check the definitions");
  auto given = std::make_shared<OperatorCheckOptions>();
  checking->add_flag("--onnx", given->onnx,
                     "compare every ONNX mapping with onnxruntime, on nodes with chosen numbers and on random ones");
  checking->add_option("--trials", given->trials, "random nodes per mapping")->check(whole_number(1, 10000));
  options.files.reads(checking->add_option(
      "FILE", given->files,
      "definitions (*.op) in addition to those of --definitions, or properties (*.properties) to prove"));
  add_definitions_option(*checking, options);
  add_common_options(*checking, options);
  checking->callback([given, &chosen] { chosen = [given](Context& context) { check(context, *given); }; });
}

}  // namespace rulemill::cli
