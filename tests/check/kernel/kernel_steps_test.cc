// The examples of kernel_steps.examples: what each inference rule makes of a small sum, and what it refuses. Each side
// condition that docs/kernel.md lists for a rule has an example that only it refuses.
#include <algorithm>
#include <map>
#include <regex>

#include "algebra/language/poly_parser.h"
#include "check/kernel/proof.h"
#include "tests/check/kernel/checker_fixture.h"

using namespace rulemill;
using namespace rulemill::check;

namespace {

struct Example {
  std::string rule, steps, result;
};

/// By the name of the rule.
std::map<std::string, std::vector<Example>> read_examples() {
  std::map<std::string, std::vector<Example>> examples;
  std::istringstream file(contents("tests/check/kernel/kernel_steps.examples"));
  std::string name, rule, steps;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("== ")) name = line.substr(3);
    if (line.starts_with("rule ")) rule = line;
    if (line.starts_with(" ")) steps += line + "\n";
    if (line.starts_with("=> ")) examples[name].push_back({rule, std::exchange(steps, ""), line.substr(3)});
  }
  return examples;
}

/// The outcome of an example.
class Outcome {
 public:
  Outcome(const std::string& name, const Example& example)
      : name_(name),
        example_(example),
        steps_(example.steps),
        test_(example.rule, contents("tests/check/kernel/kernel_steps.op"), take(" as stated\n")) {}

  /// The result with the obligations that are not trivial, or the first error or obligation that is not shown.
  std::string text() {
    try {
      const std::string result = apply();
      return refusal_.empty() ? result + obligations_ : refusal_;
    } catch (const CheckError& error) {
      return "refused: " + error.what;
    } catch (const runtime::InputError& error) {
      return "refused: " + std::string(error.what());
    }
  }

 private:
  std::string apply() {
    if (name_ == "proof") {
      const Proof proof = parse_proof("typing\n" + steps_, "steps", 1, statement());
      for (const Obligation& obligation : check_proof(proof, statement())) add(obligation);
      return "proved";
    }
    if (name_ == "use") return derive();
    Sum sum = statement().difference(0);
    Context context = test_.context();
    KnownConditions known = conditions_in_values(statement());
    for (const bool of_target : {false, true}) {
      if (!take(of_target ? " condition of target\n" : " condition of source\n")) continue;
      const DefinednessCondition& shown = statement().definedness_conditions(of_target).all.at(0);
      std::tie(sum, context) = undefinedness(shown, statement());
      known = {statement().definedness_conditions(!of_target).all, &shown};
    }
    Kernel kernel(
        statement(), [&](const Obligation& obligation) { add(obligation); }, known);
    kernel.run(sum, context, test_.read_steps(steps_));
    return statement().text(sum);
  }

  Statement& statement() { return *test_.statement; }

  /// The steps are a rule, and terms for its variables with values of its sizes.
  std::string derive() {
    std::istringstream lines(steps_);
    std::string rule, terms, sizes, value;
    std::getline(lines, rule), std::getline(lines, terms, ';'), std::getline(lines, sizes);
    PolysByName values;
    RuleInstance instance;
    for (std::istringstream each(sizes); std::getline(each, value, ';');) {
      const std::size_t sign = value.find(" := ");
      const Poly size = algebra::parse_poly(value.substr(sign + 4), "sizes", test_.symbols);
      instance.sizes.push_back(values[value.substr(1, sign - 1)] = to_core(size, test_.symbols, test_.atoms));
    }
    const std::string head = example_.rule.substr(0, example_.rule.find(')') + 1);
    const auto read =
        algebra::parse_rules(head + terms + " =>" + terms, "terms", test_.library, test_.bank, test_.symbols);
    const CoreRuleTerms goal = to_core(test_.rules.front(), read.at(0).source, test_.bank, test_.symbols, test_.atoms);
    instance.terms = goal.others;
    instance.rule = to_core(test_.rule(rule.substr(1)), test_.bank, test_.symbols, test_.atoms, &values);
    const Statement whole(goal.rule, test_.atoms, Statement::Lower::IfPartial);
    const CheckedDerivation derived = check_derivation(whole, {instance}, {});
    std::ranges::for_each(derived.obligations, [&](const Obligation& obligation) { add(obligation); });
    return test_.z3.answer(derived.script, 2'000'000) == "unsat" ? "derived" : "not implied";
  }

  void add(const Obligation& obligation) {
    if (is_trivial(obligation, test_.atoms)) return;
    const std::string goal = obligation.goal ? test_.atoms.text(*obligation.goal) : "false";
    if (obligation.script.empty()) obligations_ += " if " + goal;
    if (refusal_.empty() && !test_.holds(obligation)) refusal_ = "refused: not shown: " + obligation.what;
  }

  bool take(const std::string& line) {
    const bool found = steps_.starts_with(line);
    if (found) steps_.erase(0, line.size());
    return found;
  }

  const std::string& name_;
  const Example& example_;
  std::string steps_;
  StatementFixture test_;
  std::string obligations_, refusal_;
};

/// The side conditions of docs/kernel.md, by rule: rows of a table of the rule and of texts in quotes.
std::map<std::string, std::set<std::string>> read_conditions() {
  std::map<std::string, std::set<std::string>> conditions;
  const std::string page = contents("docs/kernel.md");
  const std::regex row("\\| `([a-z_ ]+)` \\| (.*) \\|"), text("“([^”]+)”");
  for (std::sregex_iterator line(page.begin(), page.end(), row), end; line != end; ++line) {
    const std::string cell = (*line)[2];
    for (std::sregex_iterator each(cell.begin(), cell.end(), text); each != end; ++each)
      conditions[(*line)[1]].insert((*each)[1]);
  }
  return conditions;
}

}  // namespace

TEST_CASE("each inference rule rewrites a small sum, and is refused where a side condition is violated") {
  for (const auto& [name, all] : read_examples()) {
    CHECK_FALSE(all.at(0).result.starts_with("refused"));
    for (const Example& example : all) {
      INFO(name << "\n" << example.rule << "\n" << example.steps);
      CHECK(Outcome(name, example).text() == example.result);
    }
  }
}

TEST_CASE("each side condition of the page has an example that it refuses, and each refusal is on the page") {
  const auto examples = read_examples();
  const auto conditions = read_conditions();
  for (std::size_t op = 0; op < step_kinds; ++op) {
    const std::string name = kind_name(static_cast<Step::Op>(op));
    INFO(name);
    CHECK(conditions.contains(name));
    CHECK(examples.contains(name));
  }
  for (const auto& [name, texts] : conditions) {
    INFO(name);
    REQUIRE(examples.contains(name));
    std::vector<std::string> refused;
    for (const Example& example : examples.at(name)) {
      if (example.result.starts_with("refused: ")) refused.push_back(example.result);
    }
    for (const std::string& condition : texts) {
      INFO(condition);
      CHECK(std::ranges::any_of(refused,
                                [&](const std::string& text) { return text.find(condition) != std::string::npos; }));
    }
    for (const std::string& text : refused) {
      INFO(text);
      CHECK(std::ranges::any_of(
          texts, [&](const std::string& condition) { return text.find(condition) != std::string::npos; }));
    }
  }
}

TEST_CASE("each refusal and each obligation in the kernel's sources is a side condition of the page") {
  std::set<std::string> listed;
  const std::string page = contents("docs/kernel.md");
  const std::regex quote("“([^”]+)”");
  for (std::sregex_iterator each(page.begin(), page.end(), quote), end; each != end; ++each) listed.insert((*each)[1]);
  for (const char* file : {"kernel", "factors", "order", "domain", "proof", "derivation"}) {
    const std::string source = contents("check/kernel/" + std::string(file) + ".cc");
    const std::regex text(
        "(expect\\(|CheckError\\{|require\\(|push_back\\(\\{|require_zero\\(\\{|on_obligation_\\(\\{)[^;\"]*\"([^\"]{"
        "4,})\"");
    for (std::sregex_iterator each(source.begin(), source.end(), text), end; each != end; ++each) {
      INFO(file << ": " << (*each)[2]);
      CHECK(std::ranges::any_of(listed, [&](const std::string& condition) {
        return condition.find((*each)[2]) != std::string::npos || (*each)[2].str().find(condition) != std::string::npos;
      }));
    }
  }
}

TEST_CASE("a derivation states the commutativity of operators") {
  CheckerFixture test;
  const Statement sums(test.core(test.rule("rule t(x[m], y[m]) add(x, y) => add(y, relu(x))")), test.atoms);
  CHECK(std::ranges::count(check_derivation(sums, {}, {}).script, '=') == 1 + 2);
}
