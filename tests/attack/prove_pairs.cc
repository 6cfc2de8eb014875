// Proves rules with the refuter switched off, so that what is tried is the proof itself. Reads a case a line as JSON
// {"id", "definitions", "rules"} and writes a verdict a rule as JSON: "proved" with the typed rule, "unknown" with the
// reason, "ill-typed", or "refused" where a text is not accepted. With a folder, its definitions are known to every
// case. A case with {"instances", "seed"} has what is proved put in general form, too, if it is not yet, and that
// written so many times at ranks and parameters drawn at random: each a line "proved" of its own. One without rules is
// about what its definitions claim: "accepted" with the laws that are assumed, or "refused".
#include <iostream>
#include <memory>
#include <random>
#include <string>

#include "algebra/rules/general_rules.h"
#include "algebra/terms/any_rank.h"
#include "algebra/terms/open_parameters.h"
#include "algebra/terms/rule_text.h"
#include "algebra/terms/typing.h"
#include "prove/generalize.h"
#include "prove/prover.h"
#include "runtime/error.h"
#include "runtime/json_report.h"

namespace rulemill {
namespace {

using runtime::Json;

Json judge(const algebra::Rule& rule, algebra::TermBank& bank, algebra::Symbols& symbols) {
  const auto types = algebra::infer_types(rule, bank, symbols);
  if (const auto* error = std::get_if<algebra::TypeError>(&types))
    return {{"verdict", "ill-typed"}, {"detail", error->what}};
  const auto& typed = std::get<algebra::TypedRule>(types);
  const std::string text = algebra::to_string(typed.rule, bank, symbols);
  prove::Prover prover(bank, symbols);
  const prove::Prover::Outcome outcome = prover.prove_equal(typed);
  return {{"verdict", outcome.proved ? "proved" : "unknown"}, {"detail", outcome.reason}, {"typed", text}};
}

/// The rule at ranks of 0 to 3 for its groups and numbers of 1 to 4 for its open parameters; nothing where an operator
/// has no such instance.
std::optional<algebra::Rule> random_instance(const algebra::Rule& general, std::uint64_t seed,
                                             algebra::Library& library, algebra::TermBank& bank,
                                             algebra::Symbols& symbols) {
  std::mt19937_64 random(seed);
  std::optional<algebra::Rule> rule = general;
  for (const algebra::Atom group : general.groups) {
    if (rule) rule = algebra::with_rank(*rule, group, static_cast<std::uint32_t>(random() % 4), library, bank, symbols);
  }
  for (const algebra::Atom size : rule ? algebra::open_sizes(*rule, bank) : std::vector<algebra::Atom>{}) {
    const algebra::Poly number = static_cast<std::int64_t>(1 + random() % 4);  // of 1 to 4, or of 0 to 3
    if (rule) rule = algebra::with_sizes(*rule, {{size, number}}, library, bank, symbols);
  }
  return rule;
}

void answer_instances(const Json& given, const Json& line, const algebra::Rule& rule, algebra::Library& library,
                      algebra::TermBank& bank, algebra::Symbols& symbols) {
  std::optional<algebra::Rule> general = rule;
  if (!algebra::is_general(rule, bank)) {
    const auto types = algebra::infer_types(rule, bank, symbols);
    const auto found =
        prove::generalize(std::get<algebra::TypedRule>(types).rule, library, bank, symbols, prove::ProverOptions{});
    general = found ? std::optional(found->rule) : std::nullopt;
  }
  if (!general) return;
  const std::uint64_t seed = given.at("seed").get<std::uint64_t>();
  for (std::uint64_t i = 0; i < given.at("instances").get<std::uint64_t>(); ++i) {
    const auto instance = random_instance(*general, seed * 1000 + i, library, bank, symbols);
    if (!instance) continue;
    Json each = line;
    each["typed"] = algebra::to_string(*instance, bank, symbols);
    each["general"] = algebra::to_string(*general, bank, symbols);
    std::cout << each.dump() << "\n";
  }
}

void answer(const Json& given, algebra::Library& library) {
  const std::string id = given.at("id").get<std::string>();
  try {
    if (given.contains("definitions")) library.add(given.at("definitions").get<std::string>(), id + ".op");
    if (!given.contains("rules")) {
      Json assumed = Json::array();
      for (const algebra::Function& function : library.functions())
        for (const std::string& law : function.assumed) assumed.push_back(law);
      std::cout << Json{{"id", id}, {"verdict", "accepted"}, {"assumed", assumed}}.dump() << "\n";
    }
    algebra::TermBank bank(library);
    algebra::Symbols symbols;
    const std::string text = given.value("rules", "");
    for (const algebra::Rule& rule : algebra::parse_rules(text, id + ".rules", library, bank, symbols)) {
      Json line = judge(rule, bank, symbols);
      line["id"] = id;
      line["rule"] = rule.id;
      std::cout << line.dump() << "\n";
      if (given.contains("instances") && line.at("verdict") == "proved")
        answer_instances(given, line, rule, library, bank, symbols);
    }
  } catch (const runtime::Error& error) {
    std::cout << Json{{"id", id}, {"verdict", "refused"}, {"detail", error.what()}}.dump() << "\n";
  }
  std::cout << Json{{"id", id}, {"verdict", "done"}}.dump() << std::endl;
}

}  // namespace
}  // namespace rulemill

int main(int argc, char** argv) {
  using namespace rulemill;
  auto known = std::make_unique<algebra::Library>();
  if (argc > 1) *known = algebra::Library::load(argv[1]);
  for (std::string line; std::getline(std::cin, line);) {
    const runtime::Json given = runtime::Json::parse(line);
    if (argc > 1) {
      answer(given, *known);
    } else {
      algebra::Library library;
      answer(given, library);
    }
  }
}
