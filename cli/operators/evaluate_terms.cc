// `rulemill operators eval`: evaluates terms on given tensors.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "algebra/rules/term_evaluation.h"
#include "algebra/terms/rule_text.h"
#include "cli/command.h"
#include "cli/operators/operator_commands.h"
#include "runtime/files/json_file.h"
#include "runtime/text/error.h"
#include "runtime/text/join_text.h"

namespace rulemill::cli {
namespace {

using algebra::Tensor;
using runtime::InputError;

struct EvaluationOptions {
  std::string terms, values;
};

/// {"shape": [2, 1], "values": [0.5, null]}; null is an undefined number.
Tensor tensor_of(const runtime::Json& json, const std::string& place) {
  Tensor tensor;
  try {
    json.at("shape").get_to(tensor.shape);
    for (const runtime::Json& value : json.at("values"))
      tensor.values.push_back(value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>());
  } catch (const runtime::Json::exception&) {
    throw InputError(place, "expected an object with 'shape', a list of integers, and 'values', a list of numbers");
  }
  double count = 1;
  for (const std::int64_t size : tensor.shape) {
    if (size < 1) throw InputError(place, fmt::format("expected sizes of at least 1, found {}", size));
    count *= static_cast<double>(size);
  }
  if (count != static_cast<double>(tensor.values.size()))
    throw InputError(place, fmt::format("expected {} values, found {}", count, tensor.values.size()));
  return tensor;
}

struct Values {
  std::map<std::string, Tensor> tensors;      // of the variables
  std::map<std::string, std::int64_t> sizes;  // that the terms name
};

Values read_values(const std::string& file) {
  Values values;
  const runtime::Json json = runtime::read_json(file);
  if (!json.is_object()) throw InputError(file, "expected an object with a tensor for each variable");
  for (const auto& [name, value] : json.items()) {
    if (value.is_number_integer()) {
      values.sizes[name] = value.get<std::int64_t>();
    } else {
      values.tensors[name] = tensor_of(value, file + ": '" + name + "'");
    }
  }
  return values;
}

constexpr const char* terms_origin = "TERMS";  // in messages

/// The terms as the source of a rule, whose variables have the tensors' shapes.
algebra::TypedRule typed_terms(const std::string& terms, const Values& values, algebra::Library& library,
                               algebra::TermBank& bank, algebra::Symbols& symbols) {
  std::map<std::string, algebra::Shape> variables;
  for (const auto& [name, tensor] : values.tensors) variables[name].assign(tensor.shape.begin(), tensor.shape.end());
  algebra::Rule rule = algebra::parse_terms(terms, terms_origin, variables, library, bank, symbols);
  for (const auto& [name, value] : values.sizes)
    rule.condition.push_back({algebra::Relation::Eq, algebra::Poly(symbols.size(name)), value});
  return algebra::require_types(rule, bank, symbols, terms_origin);
}

void evaluate_terms(Context& context, const EvaluationOptions& given) {
  algebra::Library library = load_library(context.options);
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  const Values values = read_values(given.values);
  const algebra::TypedRule typed = typed_terms(given.terms, values, library, bank, symbols);
  std::vector<Tensor> results;
  try {
    results = algebra::evaluate_source(typed, values.tensors, bank);
  } catch (const InputError& error) {
    throw InputError(terms_origin, error.what());
  }
  context.report["outputs"] = runtime::Json::array();
  for (const Tensor& result : results) {
    const auto value_text = [](double value) {
      return std::isnan(value) ? std::string("undefined") : fmt::format("{:g}", value);
    };
    context.print(
        fmt::format("[{}]: {}\n", fmt::join(result.shape, ", "), runtime::join_text(result.values, value_text)));
    context.report["outputs"].push_back({{"shape", result.shape}, {"values", result.values}});
  }
}

}  // namespace

void add_operators_eval(CLI::App& operators, Options& options, Command& chosen) {
  auto* evaluating = operators.add_subcommand("eval", "Evaluate terms on given tensors, in double precision");
  auto given = std::make_shared<EvaluationOptions>();
  evaluating->add_option("TERMS", given->terms, "terms in the form of rules, such as 'relu(matmul(x, w))'")->required();
  options.files
      .reads(evaluating->add_option("--values", given->values,
                                    "file with a tensor for each variable and a number for each named size (JSON): "
                                    "{\"x\": {\"shape\": [1, 2], \"values\": [3, 4]}, \"n\": 2}"))
      ->required();
  add_general_options(*evaluating, options);
  choose_on_first_rank(*evaluating, chosen, evaluate_terms, given);
}

}  // namespace rulemill::cli
