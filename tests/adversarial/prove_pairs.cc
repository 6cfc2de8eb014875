// Proves rules without the refuter, to test the proof search itself. Reads one case per line as JSON {"id",
// "definitions", "rules"}; writes one line per rule, {"verdict", ...}: "proved" with the typed rule, "unknown" with the
// reason, "ill-typed", or "rejected" if the text is invalid. With {"whole": true} it is the prover's own verdict, with
// its counterexample. Without "rules", the verdict is on the declarations in the
// definitions: "accepted" with the assumed laws, or "rejected". With {"specializations", "seed"}, each proved rule is
// generalized and specialized so many times at random ranks and parameters; each specialization is a "proved" line.
// Each case ends with "done".
//   prove_pairs [DEFINITIONS]: every case also has the definitions of this folder.
#include <iostream>
#include <memory>
#include <random>
#include <string>

#include "algebra/rules/specialization.h"
#include "algebra/terms/dimension_packs.h"
#include "algebra/terms/rule_text.h"
#include "algebra/terms/symbolic_parameters.h"
#include "algebra/terms/typing.h"
#include "prove/prover/prover.h"
#include "prove/tasks/generalize.h"
#include "runtime/text/error.h"
#include "runtime/text/json.h"

namespace rulemill {
namespace {

using runtime::Json;

Json whole_verdict(const algebra::Rule& rule, algebra::TermBank& bank, algebra::Symbols& symbols) {
  const prove::Verdict verdict = prove::Prover(bank, symbols).prove(rule);
  Json line = {{"verdict", prove::name(verdict)}, {"detail", prove::detail(verdict)}};
  if (const auto* typed = prove::typed_rule(verdict)) line["typed"] = algebra::to_string(typed->rule, bank, symbols);
  if (const auto* refuted = std::get_if<prove::Refuted>(&verdict))
    line["counterexample"] = prove::to_json(refuted->counterexample);
  return line;
}

Json prove_rule(const algebra::Rule& rule, algebra::TermBank& bank, algebra::Symbols& symbols) {
  const auto types = algebra::infer_types(rule, bank, symbols);
  if (const auto* error = std::get_if<algebra::TypeError>(&types))
    return {{"verdict", "ill-typed"}, {"detail", error->what}};
  const auto& typed = std::get<algebra::TypedRule>(types);
  const std::string text = algebra::to_string(typed.rule, bank, symbols);
  prove::Prover prover(bank, symbols);
  const prove::ProofResult result = prover.prove_equal(typed);
  return {{"verdict", result.proved ? "proved" : "unknown"}, {"detail", result.reason}, {"typed", text}};
}

/// Returns the rule with packs of 0 to 3 dimensions and sizes of 1 to 4 for its symbolic parameters, or nothing if an
/// operator has no such specialization.
std::optional<algebra::Rule> random_specialization(const algebra::Rule& general, std::uint64_t seed,
                                                   algebra::Library& library, algebra::TermBank& bank,
                                                   algebra::Symbols& symbols) {
  std::mt19937_64 random(seed);
  std::optional<algebra::Rule> rule = general;
  for (const algebra::Atom pack : general.packs) {
    if (rule)
      rule = algebra::expand_pack(*rule, pack, static_cast<std::uint32_t>(random() % 4), library, bank, symbols);
  }
  for (const algebra::Atom size :
       rule ? algebra::symbolic_parameter_sizes(*rule, bank) : std::vector<algebra::Atom>{}) {
    const algebra::Poly number = static_cast<std::int64_t>(1 + random() % 4);  // parameters from 1 to 4, or from 0 to 3
    if (rule) rule = algebra::substitute_sizes(*rule, {{size, number}}, library, bank, symbols);
  }
  return rule;
}

void write_specializations(const Json& request, const Json& line, const algebra::Rule& rule, algebra::Library& library,
                           algebra::TermBank& bank, algebra::Symbols& symbols) {
  std::optional<algebra::Rule> general = rule;
  if (!algebra::is_general(rule, bank)) {
    const auto types = algebra::infer_types(rule, bank, symbols);
    const auto generalization =
        prove::generalize(std::get<algebra::TypedRule>(types).rule, library, bank, symbols, prove::ProverOptions{});
    general = generalization ? std::optional(generalization->rule) : std::nullopt;
  }
  if (!general) return;
  const std::uint64_t seed = request.at("seed").get<std::uint64_t>();
  for (std::uint64_t i = 0; i < request.at("specializations").get<std::uint64_t>(); ++i) {
    const auto specialization = random_specialization(*general, seed * 1000 + i, library, bank, symbols);
    if (!specialization) continue;
    Json output = line;
    output["typed"] = algebra::to_string(*specialization, bank, symbols);
    output["general"] = algebra::to_string(*general, bank, symbols);
    std::cout << runtime::to_text(output) << "\n";
  }
}

void handle_case(const Json& request, algebra::Library& library) {
  const std::string id = request.at("id").get<std::string>();
  try {
    if (request.contains("definitions")) library.add(request.at("definitions").get<std::string>(), id + ".op");
    if (!request.contains("rules")) {
      Json assumed = Json::array();
      for (const algebra::Function& function : library.functions())
        for (const std::string& law : function.assumed_laws) assumed.push_back(law);
      std::cout << runtime::to_text({{"id", id}, {"verdict", "accepted"}, {"assumed", assumed}}) << "\n";
    }
    algebra::TermBank bank(library);
    algebra::Symbols symbols;
    const std::string text = request.value("rules", "");
    for (const algebra::Rule& rule : algebra::parse_rules(text, id + ".rules", library, bank, symbols)) {
      Json line = request.contains("whole") ? whole_verdict(rule, bank, symbols) : prove_rule(rule, bank, symbols);
      line["id"] = id;
      line["rule"] = rule.id;
      std::cout << runtime::to_text(line) << "\n";
      if (request.contains("specializations") && line.at("verdict") == "proved")
        write_specializations(request, line, rule, library, bank, symbols);
    }
  } catch (const runtime::Error& error) {
    std::cout << runtime::to_text({{"id", id}, {"verdict", "rejected"}, {"detail", error.what()}}) << "\n";
  }
  std::cout << runtime::to_text({{"id", id}, {"verdict", "done"}}) << std::endl;
}

}  // namespace
}  // namespace rulemill

int main(int argc, char** argv) {
  using namespace rulemill;
  auto shared_library = std::make_unique<algebra::Library>();
  if (argc > 1) *shared_library = algebra::Library::load(argv[1]);
  for (std::string line; std::getline(std::cin, line);) {
    const runtime::Json request = runtime::parse_json(line);
    if (argc > 1) {
      handle_case(request, *shared_library);
    } else {
      algebra::Library library;
      handle_case(request, library);
    }
  }
}
