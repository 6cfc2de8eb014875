// `rulemill operators check`: checks definitions, their properties and their ONNX mappings.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "algebra/operators/aten_domain.h"
#include "algebra/terms/rule_text.h"
#include "cli/command.h"
#include "cli/model_processes.h"
#include "cli/number_option.h"
#include "cli/operators/operator_commands.h"
#include "cli/rules/verdict_report.h"
#include "cli/text_table.h"
#include "optimize/onnx/mapping_check.h"
#include "runtime/files/atomic_file.h"
#include "runtime/process/subprocess.h"
#include "runtime/text/error.h"

namespace rulemill::cli {
namespace {

/// Proves or refutes every property of the files.
void check_properties(Context& context, const std::vector<std::string>& files, algebra::Library& library) {
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  std::vector<algebra::ImportedRule> properties;
  for (const std::string& file : files)
    std::ranges::move(algebra::parse_imported_rules(runtime::read_file(file), file, library, bank, symbols),
                      std::back_inserter(properties));
  const auto verdicts = prove::prove_imported_rules(properties, library, bank, symbols, {});
  report_verdicts(context, "properties", verdicts);
  require_proved("operators check", "properties", verdicts);
}

/// Compares every ONNX mapping with onnxruntime, or every mapping of ATen with torch. Throws if one differs.
void check_mappings(Context& context, algebra::Library& library, int trials, bool is_torch) {
  const std::string command = is_torch ? "operators check --torch" : "operators check --onnx";
  ::setenv("RULEMILL", runtime::current_executable().c_str(), 1);  // with which the helper reads models
  optimize::MappingCheckOptions options;
  options.command = node_runner_command(is_torch);
  options.is_torch = is_torch;
  options.trials = trials;
  if (options.command.empty())
    throw runtime::Error(
        command, std::string("no Python with ") + (is_torch ? "torch" : "onnxruntime") + " found; set RULEMILL_PYTHON");
  if (is_torch) options.command.push_back(definitions_folder(context.options).string());
  std::string runtime_version;
  const auto reports = optimize::check_mappings(library, options, runtime_version);
  TextTable table({"operator", is_torch ? "ATen" : "ONNX", "nodes", "rejected", "result"});
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
      fmt::format("{} {} mappings compared with {}: {} nodes agree, {} mappings differ, {} could not be compared\n",
                  reports.size(), is_torch ? "ATen" : "ONNX", runtime_version, agreed, differing, not_compared));
  if (differing > 0) throw runtime::Error(command, std::to_string(differing) + " mappings differ");
}

struct OperatorCheckOptions {
  std::vector<std::string> files;
  bool onnx = false, torch = false;
  int trials = 6;
};

/// Loading checks the definitions: it expands every operator for every value of its enum parameters.
void check(Context& context, const OperatorCheckOptions& given) {
  algebra::Library library = load_library(context.options);
  if (given.torch) library.restrict_domains({algebra::aten_domain});
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
  runtime::on_first_rank(context.world, [&] {
    if (!properties.empty()) check_properties(context, properties, library);
    if (given.onnx) check_mappings(context, library, given.trials, false);
    if (given.torch) check_mappings(context, library, given.trials, true);
  });
}

}  // namespace

void add_operators_check(CLI::App& operators, Options& options, Command& chosen) {
  auto* checking = operators.add_subcommand("check", "Check the definitions");
  auto given = std::make_shared<OperatorCheckOptions>();
  checking->add_flag("--onnx", given->onnx,
                     "compare every ONNX mapping with onnxruntime, on nodes with chosen numbers and on random ones");
  checking
      ->add_flag("--torch", given->torch,
                 "compare every mapping of an operator of PyTorch with PyTorch, in the same way")
      ->excludes("--onnx");
  checking->add_option("--trials", given->trials, "random nodes per mapping")->check(whole_number(1, 10000));
  options.files.reads(checking->add_option(
      "FILE", given->files,
      "definitions (*.op) in addition to those of --definitions, or properties (*.properties) to prove"));
  add_general_options(*checking, options);
  checking->callback([given, &chosen] { chosen = [given](Context& context) { check(context, *given); }; });
}

}  // namespace rulemill::cli
