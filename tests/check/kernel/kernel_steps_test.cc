// The examples of kernel_steps.examples: what each inference rule makes of a small sum, and what it refuses. Each side
// condition that docs/kernel.md lists for a rule has an example that only it refuses.
#include <algorithm>
#include <map>
#include <random>
#include <regex>

#include "algebra/language/poly_parser.h"
#include "check/kernel/derivation.h"
#include "tests/check/kernel/checker_fixture.h"
#include "tests/check/kernel/sum_value.h"

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
        of_target_(take(" target\n")),
        test_(example.rule, contents("tests/check/kernel/kernel_steps.op"), take(" as stated\n")) {}

  /// The result with the obligations that are not trivial, or the first error or obligation that is false.
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
    Kernel kernel(statement(), [&](const Obligation& obligation) { add(obligation); });
    if (name_ == "proof") {
      const CheckedProof checked = check_proof(read("typing\n" + steps_), statement());
      std::ranges::for_each(checked.obligations, [&](const Obligation& obligation) { add(obligation); });
      return "proved";
    }
    if (name_ == "use") return derive();
    if (name_.starts_with("signs") || name_ == "empty" || name_ == "split domain" || name_ == "from" ||
        name_ == "opposite") {
      const DefinednessCondition condition = statement().definedness_conditions(of_target_).all.at(0);
      const Guards given = conjunction(statement().facts(), condition.guards);
      const Proof proof = read("typing\noutput\ndomain of source\n demand 1\n" + steps_);
      check_definedness(proof.domains[0].at(0).proof, condition, of_target_, given, statement(), kernel);
      return "defined";
    }
    Sum sum = statement().difference(0);
    const Kernel::Context context{conjunction(statement().facts(), statement().index_ranges(0)), {}};
    kernel.run(sum, context, read("typing\noutput\n" + steps_).outputs[0].steps);
    return statement().text(sum);
  }

  Statement& statement() { return *test_.statement; }
  Proof read(const std::string& text) { return parse_proof(text, "steps", 1, test_.atoms); }

  /// The steps are a rule, and terms for its variables with values of its sizes.
  std::string derive() {
    std::istringstream lines(steps_);
    std::string rule, terms, sizes, value;
    std::getline(lines, rule), std::getline(lines, terms, ';'), std::getline(lines, sizes);
    RuleInstance instance{&test_.rule(rule.substr(1)), {}, {}};
    const std::string head = example_.rule.substr(0, example_.rule.find(')') + 1);
    instance.terms =
        algebra::parse_rules(head + terms + " =>" + terms, "terms", test_.library, test_.bank, test_.symbols)
            .at(0)
            .source;
    for (std::istringstream each(sizes); std::getline(each, value, ';');) {
      const std::size_t sign = value.find(" := ");
      instance.sizes[value.substr(1, sign - 1)] = algebra::parse_poly(value.substr(sign + 4), "sizes", test_.symbols);
    }
    const CheckedDerivation derived = check_derivation(statement(), {instance}, test_.symbols, {});
    std::ranges::for_each(derived.obligations, [&](const Obligation& obligation) { add(obligation); });
    return "derived";
  }

  /// Evaluates the obligation at random small sizes.
  void add(const Obligation& obligation) {
    const std::string goal = obligation.goal ? test_.atoms.text(*obligation.goal) : "false";
    obligations_ += " if " + (obligation.indicators.empty() ? goal : "indicators cancel");
    for (int i = 0; i < 100 && refusal_.empty(); ++i) {
      std::map<Atom, std::int64_t> values;
      for (const Atom size : sizes()) values[size] = 1 + static_cast<std::int64_t>(random_() % 7);
      SumValue at(statement(), values, 1);
      try {
        if (at.holds(statement().facts()) && !at.holds(obligation)) refusal_ = "refused: not true: " + obligation.what;
      } catch (const Undecided&) {  // a divisor is not positive
      }
    }
  }
  std::set<Atom> sizes() {
    std::set<Atom> all;
    for (const std::string& name : algebra::used_size_names(statement().rule(), test_.bank, test_.symbols))
      all.insert(*test_.atoms.size(name).atom());
    return all;
  }

  bool take(const std::string& line) {
    const bool found = steps_.starts_with(line);
    if (found) steps_.erase(0, line.size());
    return found;
  }

  const std::string& name_;
  const Example& example_;
  std::string steps_;
  bool of_target_;
  StatementFixture test_;
  std::mt19937_64 random_{1};
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
  const Atoms atoms;
  for (int op = 0; op <= static_cast<int>(Step::Op::Unfold); ++op) {
    Step step;
    step.op = static_cast<Step::Op>(op);
    step.polys.resize(2);
    const std::string text = to_string(step, atoms), name = text.substr(0, text.find_first_of(" :;"));
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
  for (const char* file : {"kernel", "laws", "formulas", "order", "domain", "proof", "derivation"}) {
    const std::string source = contents("check/kernel/" + std::string(file) + ".cc");
    const std::regex text(
        "(expect\\(|CheckError\\{|require\\(|obligations\\.push_back\\(\\{|Obligation "
        "obligation\\{)[^;\"]*\"([^\"]{4,})\"");
    for (std::sregex_iterator each(source.begin(), source.end(), text), end; each != end; ++each) {
      INFO(file << ": " << (*each)[2]);
      CHECK(std::ranges::any_of(listed, [&](const std::string& condition) {
        return condition.find((*each)[2]) != std::string::npos || (*each)[2].str().find(condition) != std::string::npos;
      }));
    }
  }
}

TEST_CASE("a rule that needs an operation without a function of the definitions is refused") {
  CheckerFixture test;
  test.library = {};
  test.library.add(
      "function gated(t) = gate(t, t + 1)\noperator top(x[n, m])\n  y[i < n] = max(p < m) gated(x[i, p])\n", "test.op");
  Statement statement(test.rule("rule t(x[n, m]) top(x) => top(x)"), test.bank, test.symbols, test.atoms);
  Kernel kernel(statement, [](const Obligation&) {});
  for (const std::string step : {"within 0 0 0\nunfold 0 0\nend\n", "divide_max 0 0: -1 + #0 >= 0; 1; 0\n"}) {
    Sum sum = statement.difference(0);
    const std::vector<Step> steps = parse_proof("typing\noutput\n" + step, "steps", 1, test.atoms).outputs[0].steps;
    CHECK_THROWS_MATCHES(kernel.run(sum, {statement.facts(), {}}, steps), CheckError,
                         Catch::Predicate<CheckError>([](const CheckError& error) {
                           return error.what == "an operation is no function of the definitions";
                         }));
  }
}

TEST_CASE("a derivation states the commutativity of operators, and has terms over the variables of its goal") {
  CheckerFixture test;
  Statement sums(test.rule("rule t(x[m], y[m]) add(x, y) => add(y, relu(x))"), test.bank, test.symbols, test.atoms);
  CHECK(std::ranges::count(check_derivation(sums, {}, test.symbols, {}).script, '=') == 1 + 2);
  Statement goal(test.rule("rule t(a[m]) relu(a) => relu(a)"), test.bank, test.symbols, test.atoms);
  const algebra::Rule& other = test.rule("rule p(x[p]) relu(x) => relu(x)");
  const RuleInstance instance{&other, other.variables, {{"p", algebra::parse_poly("m", "size", test.symbols)}}};
  CHECK_THROWS_AS(check_derivation(goal, {instance}, test.symbols, {}), CheckError);
}
