// `rulemill operators list|show`: the signatures of all operators, and what the files say about one.
#include "algebra/library/library.h"
#include "algebra/library/operator_description.h"
#include "cli/operators/operator_commands.h"
#include "cli/text_table.h"
#include "runtime/text/error.h"

namespace rulemill::cli {
namespace {

using algebra::OperatorDescription;

/// Splits "f(x[n]; at: size)" into the inputs and the parameters.
std::pair<std::string, std::string> split_signature(const std::string& signature) {
  const std::size_t open = signature.find('(') + 1;
  const std::string inside = signature.substr(open, signature.size() - open - 1);
  const std::size_t semicolon = inside.find(';');
  if (semicolon == std::string::npos) return {inside, ""};
  return {inside.substr(0, semicolon), inside.substr(std::min(semicolon + 2, inside.size()))};
}

void list(Context& context) {
  const algebra::Library library = load_library(context.options);
  const std::map<std::string, std::string> signatures = algebra::operator_signatures(library);
  TextTable table({"operator", "inputs", "parameters"});
  for (const std::string& name : library.operator_names()) {
    const std::string& signature = signatures.at(name);
    const auto [inputs, parameters] = split_signature(signature);
    table.add({name, inputs, parameters});
    context.report["operators"].push_back({{"name", name},
                                           {"signature", signature},
                                           {"place", library.place_of(name)},
                                           {"inputs", library.arity(name)},
                                           {"outputs", library.output_names(name)},
                                           {"sizes", library.size_parameter_names(name)},
                                           {"parameters", library.parameter_names(name)},
                                           {"assumed_laws", library.assumed_laws(name)},
                                           {"digest", library.digest(name)}});
  }
  context.print(table.text());
}

/// Lines "title   text", the title in the first one only.
std::string titled(const std::string& title, const std::vector<std::string>& texts) {
  constexpr std::size_t width = 13;
  std::string lines;
  for (const std::string& text : texts) {
    std::string first = lines.empty() ? title : "";
    first.resize(width, ' ');
    lines += first + text + "\n";
  }
  return lines;
}

runtime::Json to_json(const std::vector<OperatorDescription::Tensor>& tensors) {
  runtime::Json list = runtime::Json::array();
  for (const auto& [text, type] : tensors) list.push_back({{"text", text}, {"type", type}});
  return list;
}

runtime::Json to_json(const OperatorDescription& description) {
  runtime::Json json = {{"signature", description.signature},
                        {"place", description.place},
                        {"definition", description.definition},
                        {"inputs", to_json(description.inputs)},
                        {"outputs", to_json(description.outputs)},
                        {"parameters", runtime::Json::array()},
                        {"onnx", description.onnx},
                        {"aten", description.aten},
                        {"parts", description.parts},
                        {"functions", runtime::Json::array()}};
  for (const auto& [text, meaning] : description.parameters)
    json["parameters"].push_back({{"text", text}, {"meaning", meaning}});
  for (const auto& [name, place, definition] : description.functions)
    json["functions"].push_back({{"name", name}, {"place", place}, {"definition", definition}});
  return json;
}

void show_operator(Context& context, const std::string& name) {
  const algebra::Library library = load_library(context.options);
  if (!library.has_operator(name))
    throw runtime::UsageError("NAME", algebra::unknown_operator(name, library.operator_names()));
  const OperatorDescription description = algebra::describe_operator(library, name);
  const std::vector<std::string> assumed = library.assumed_laws(name);
  std::string text = description.signature + "\n\n" + description.definition;
  for (const auto& function : description.functions) text += "\n" + function.definition;
  const auto typed = [](const std::vector<OperatorDescription::Tensor>& tensors) {
    std::vector<std::string> texts;
    for (const auto& tensor : tensors) texts.push_back(tensor.text + "  " + tensor.type);
    return texts;
  };
  std::vector<std::string> parameters;
  for (const auto& parameter : description.parameters) parameters.push_back(parameter.text + "  " + parameter.meaning);
  const std::vector<std::string> none = {"none"};
  text += "\n" + titled("place", {description.place}) + titled("inputs", typed(description.inputs));
  text += titled("outputs", typed(description.outputs)) + titled("parameters", parameters);
  text += titled("consists of", description.parts) + titled("ONNX", description.onnx.empty() ? none : description.onnx);
  text += titled("ATen", description.aten);
  context.print(text + titled("assumes", assumed) + titled("digest", {library.digest(name)}));
  context.report = to_json(description);
  context.report["name"] = name;
  context.report["assumed_laws"] = assumed;
  context.report["digest"] = library.digest(name);
}

}  // namespace

void add_operators(CLI::App& app, Options& options, Command& chosen) {
  auto* operators = app.add_subcommand("operators", "Operator definitions");
  operators->require_subcommand(1);
  auto* listing = operators->add_subcommand("list", "List the defined operators with their signatures");
  add_general_options(*listing, options);
  listing->callback([&chosen] { chosen = list; });

  auto* showing = operators->add_subcommand("show", "Show one operator: definition, types, parameters, ONNX mapping");
  auto name = std::make_shared<std::string>();
  showing->add_option("NAME", *name, "operator, as in `operators list`")->required();
  add_general_options(*showing, options);
  showing->callback([name, &chosen] { chosen = [name](Context& context) { show_operator(context, *name); }; });

  add_operators_check(*operators, options, chosen);
  add_operators_eval(*operators, options, chosen);
  add_operators_import(*operators, options, chosen);
}

}  // namespace rulemill::cli
