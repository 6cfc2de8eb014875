// Proves rules with the refuter switched off, so that what is tried is the proof itself. Reads a case a line as JSON
// {"id", "definitions", "rules"} and writes a verdict a rule as JSON: "proved" with the typed rule, "unknown" with the
// reason, "ill-typed", or "refused" where a text is not accepted. With a folder, its definitions are known to every
// case.
#include <iostream>
#include <memory>
#include <string>

#include "algebra/terms/rule_text.h"
#include "algebra/terms/typing.h"
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

void answer(const Json& given, algebra::Library& library) {
  const std::string id = given.at("id").get<std::string>();
  try {
    if (given.contains("definitions")) library.add(given.at("definitions").get<std::string>(), id + ".op");
    algebra::TermBank bank(library);
    algebra::Symbols symbols;
    const std::string text = given.at("rules").get<std::string>();
    for (const algebra::Rule& rule : algebra::parse_rules(text, id + ".rules", library, bank, symbols)) {
      Json line = judge(rule, bank, symbols);
      line["id"] = id;
      line["rule"] = rule.id;
      std::cout << line.dump() << "\n";
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
