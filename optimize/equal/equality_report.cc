#include "optimize/equal/equality_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "optimize/equal/prover/constant_agreement.h"
#include "runtime/text/quantity.h"

namespace rulemill::optimize {
namespace {

using runtime::Json;
using Verdict = EqualityResult::Verdict;

/// Inputs of at most this many elements are part of the JSON report.
constexpr std::size_t max_reported_elements = 4096;

/// Constants whose terms are part of the text report; the JSON report has all.
constexpr std::size_t max_reported_terms = 20, max_term_length = 200;

constexpr const char* verdict_names[] = {"equal", "different", "not shown"};  // in order

std::string pairing_text(const EqualityResult& result) {
  return result.by_position ? "\ninputs and outputs are paired by position: their names differ\n" : "\n";
}

std::string claim_text(const EqualityResult& result) {
  std::string text;
  for (const auto& [name, bound] : result.lower_bounds) text += fmt::format(", {} >= {}", name, bound);
  for (const auto& [name, bound] : result.upper_bounds) text += fmt::format(", {} <= {}", name, bound);
  const std::string sizes = text.empty() ? "" : " where" + text.substr(1);
  const std::string domain = result.widens       ? ", wherever " + result.before + " is defined"
                             : result.is_partial ? ", wherever they are defined"
                                                 : "";
  return result.before + " and " + result.after + ": equal for all inputs" + sizes + domain +
         ", as functions of real numbers; rounding may differ" + pairing_text(result);
}

std::string difference_text(const ElementDifference& difference) {
  if (!difference.shapes.empty()) return fmt::format("value {}: {}", difference.value, difference.shapes);
  return fmt::format("value {}, element {}: {:.9g} became {:.9g}", difference.value, difference.element,
                     difference.before, difference.after);
}

std::string proof_text(const EqualityResult& result) {
  std::string text = result.cleaned ? "models are compared after the clean-up of optimize --only-clean\n" : "";
  if (result.normalizations_as_parts) text += "normalizations and Einsum are read as the nodes that compute them\n";
  if (result.runtime_constants > 0)
    text +=
        fmt::format("constants of nodes without definitions, computed in onnxruntime: {}\n", result.runtime_constants);
  text += fmt::format("values with equal terms {}, merged by rules {}, without an equal one {}\n", result.congruent,
                      result.by_rules, result.unmatched);
  if (!result.rules.empty()) {
    text += "rules (uses):";
    for (const auto& [rule, uses] : result.rules) text += fmt::format(" {} ({})", rule, uses);
    text += '\n';
  }
  if (!result.statements.empty()) {
    std::uint64_t values = 0;
    for (const auto& [statement, uses] : result.statements) values += uses;
    text += fmt::format("merged by proofs from the definitions {}, statements {}\n", values, result.statements.size());
  }
  if (result.constants > 0) {
    text += fmt::format(
        "folded constants compared by value: {}; largest difference {:.2g} of the rounding error of an element's own "
        "arithmetic (limit {})\n",
        result.constants, result.constant_difference, max_constant_errors);
  }
  std::size_t left = max_reported_terms;
  for (const std::string& term : result.constant_terms) {
    if (left-- == 0)
      return text + fmt::format("and {} constants more\n", result.constant_terms.size() - max_reported_terms);
    text += fmt::format("constant {:.{}}{}\n", term, max_term_length, term.size() > max_term_length ? "…" : "");
  }
  return text;
}

std::string refutation_text(const EqualityResult& result) {
  if (!result.refutation) return result.onnxruntime_difference + "\n";
  const Refutation& found = *result.refutation;
  std::string text = "input: " + found.input;
  for (const auto& [name, size] : found.sizes) text += fmt::format(", {} = {}", name, size);
  text += "\noutput: " + difference_text(found.output);
  return text + "\nfirst difference: " + found.node + ", " + difference_text(found.first) + "\n";
}

std::string open_text(const EqualityResult& result) {
  std::string text = result.evaluation + "\n";
  if (!result.undefined.empty())
    return text + "equal wherever both are defined: only one computes " + result.undefined +
           ", which may be undefined at some inputs\n";
  if (result.rounded_constants > 0)
    text += fmt::format(
        "equal up to the rounding of stored constants: elements of {} stand for others, within {} roundoffs of the "
        "largest in their row\n",
        result.rounded_constants, max_stored_roundoffs);
  if (!result.open) return text;
  const OpenRegion& open = *result.open;
  return text + fmt::format("smallest regions left: value {}: {} in the first model; {} in the second\n", open.value,
                            fmt::join(open.before_nodes, ", "), fmt::join(open.after_nodes, ", "));
}

Json difference_json(const ElementDifference& difference) {
  if (!difference.shapes.empty()) return {{"value", difference.value}, {"shapes", difference.shapes}};
  return {{"value", difference.value},
          {"element", difference.element},
          {"before", difference.before},
          {"after", difference.after}};
}

Json refutation_json(const Refutation& found) {
  Json json = {{"input", found.input},
               {"sizes", found.sizes},
               {"output", difference_json(found.output)},
               {"first_difference", difference_json(found.first)},
               {"node", found.node},
               {"inputs", Json::object()}};
  for (const auto& [name, tensor] : found.inputs) {
    Json& input = json["inputs"][name] = {{"shape", tensor.shape}};
    if (tensor.values.size() <= max_reported_elements) input["elements"] = tensor.values;
  }
  return json;
}

}  // namespace

std::string to_text(const EqualityResult& result) {
  const std::string models = result.before + " and " + result.after;
  const std::string seconds = fmt::format("{:.1f} s\n", result.seconds);
  if (result.verdict == Verdict::Equal) {
    return claim_text(result) + proof_text(result) + written_proof_text(result) + seconds;
  }
  if (result.verdict == Verdict::Different)
    return models + ": different" + pairing_text(result) + refutation_text(result) + seconds;
  return models + ": not shown to be equal or different" + pairing_text(result) + proof_text(result) +
         open_text(result) + seconds;
}

Json to_json(const EqualityResult& result) {
  Json json = {{"before", result.before},
               {"after", result.after},
               {"verdict", verdict_names[static_cast<std::size_t>(result.verdict)]},
               {"seconds", result.seconds},
               {"by_position", result.by_position},
               {"cleaned", result.cleaned},
               {"partial", result.is_partial},
               {"normalizations_as_parts", result.normalizations_as_parts},
               {"lower_bounds", result.lower_bounds},
               {"upper_bounds", result.upper_bounds},
               {"congruent", result.congruent},
               {"by_rules", result.by_rules},
               {"unmatched", result.unmatched},
               {"rules", result.rules},
               {"statements", result.statements},
               {"constant_terms", result.constant_terms},
               {"constants", result.constants},
               {"constant_difference", result.constant_difference},
               {"runtime_constants", result.runtime_constants},
               {"evaluation", result.evaluation},
               {"onnxruntime_difference", result.onnxruntime_difference}};
  if (result.refutation) json["refutation"] = refutation_json(*result.refutation);
  if (!result.proof_gap.empty()) json["proof_gap"] = result.proof_gap;
  if (!result.undefined.empty()) json["undefined"] = result.undefined;
  if (result.rounded_constants > 0) json["rounded_constants"] = result.rounded_constants;
  if (result.proof_bytes > 0) json["proof_bytes"] = result.proof_bytes;
  if (result.open) {
    json["open"] = {{"value", result.open->value},
                    {"before_nodes", result.open->before_nodes},
                    {"after_nodes", result.open->after_nodes}};
  }
  return json;
}

std::string written_proof_text(const EqualityResult& result) {
  if (result.proof_bytes > 0) return fmt::format("proof: {}\n", runtime::format_bytes(result.proof_bytes));
  return result.proof_gap.empty() ? "" : "no proof is written: " + result.proof_gap + "\n";
}

std::string followed_proof_text(const EqualityResult& result) {
  std::string text = claim_text(result);
  if (result.cleaned) text += "after the clean-up of optimize --only-clean, which is tested, not proved\n";
  if (result.normalizations_as_parts) text += "normalizations and Einsum are read as the nodes that compute them\n";
  return text + fmt::format("{} steps with {} proved rules; constants compared by their elements: {}\n{:.2f} s\n",
                            result.proof_steps, result.proof_rules, result.constants, result.seconds);
}

Json followed_proof_json(const EqualityResult& result) {
  Json json = {{"steps", result.proof_steps}, {"rules", result.proof_rules}, {"widens", result.widens}};
  const Json all = to_json(result);
  for (const char* key : {"before", "after", "by_position", "cleaned", "partial", "normalizations_as_parts",
                          "lower_bounds", "upper_bounds", "constants", "seconds"})
    json[key] = all[key];
  return json;
}

std::string failure_of(const EqualityResult& result) {
  if (result.verdict == Verdict::Equal) return {};
  if (result.verdict == Verdict::NotShown) return "not shown to be equal to " + result.before;
  return "computes something else than " + result.before;
}

}  // namespace rulemill::optimize
