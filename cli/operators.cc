// `rulemill operators list|check`: what the definitions define.
#include "cli/command.h"
#include "cli/text_table.h"
#include "runtime/atomic_file.h"

namespace rulemill::cli {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

void list(Context& context) {
  const algebra::Library library = load_library(context.options);
  TextTable table({"operator", "inputs", "sizes", "parameters", "digest"});
  for (const std::string& name : library.operator_names()) {
    const auto sizes = library.size_parameter_names(name);
    const auto parameters = library.parameter_names(name);
    table.add({name, std::to_string(library.arity(name)), joined(sizes), joined(parameters), library.digest(name)});
    context.report["operators"].push_back({{"name", name},
                                           {"inputs", library.arity(name)},
                                           {"sizes", sizes},
                                           {"parameters", parameters},
                                           {"digest", library.digest(name)}});
  }
  context.print(table.text());
}

/// Loading checks everything: every operator is expanded for every value of its finite parameters.
void check(Context& context, const std::vector<std::string>& files) {
  algebra::Library library = load_library(context.options);
  const auto folder = std::filesystem::weakly_canonical(definitions_folder(context.options));
  for (const std::string& file : files) {
    const std::string text = runtime::read_file(file);
    if (std::filesystem::weakly_canonical(file).parent_path() != folder) library.add(text, file);
  }
  context.report = {{"operators", library.operator_names().size()},
                    {"functions", library.functions().size()},
                    {"digest", library.digest()}};
  context.print(std::to_string(library.operator_names().size()) + " operators and " +
                std::to_string(library.functions().size()) + " functions are well-formed; digest " + library.digest() +
                "\n");
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
  auto files = std::make_shared<std::vector<std::string>>();
  checking->add_option("FILE", *files, "definition files (*.op) to check beside those of --definitions");
  add_definitions_option(*checking, options);
  add_common_options(*checking, options);
  checking->callback([files, &chosen] { chosen = [files](Context& context) { check(context, *files); }; });
}

}  // namespace rulemill::cli
