// The examples of kernel_steps.examples: what each inference rule makes of a small sum, and what it refuses.
#include <algorithm>
#include <fstream>
#include <map>

#include "tests/check/kernel/checker_fixture.h"

using namespace rulemill;
using namespace rulemill::check;

namespace {

struct Example {
  std::string rule, steps, result;
};

/// By the name of the step.
std::map<std::string, std::vector<Example>> read_examples() {
  std::map<std::string, std::vector<Example>> examples;
  std::ifstream file(RULEMILL_SOURCE_DIR "/tests/check/kernel/kernel_steps.examples");
  std::string name;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("== "))
      name = line.substr(3);
    else if (line.starts_with("rule "))
      examples[name].push_back({line, "", ""});
    else if (line.starts_with(" "))
      examples[name].back().steps += line + "\n";
    else if (line.starts_with("=> "))
      examples[name].back().result = line.substr(3);
  }
  return examples;
}

/// The sum after the steps, with the obligations that are not trivial, or the error.
std::string apply(const Example& example) {
  StatementFixture test(example.rule);
  std::string obligations;
  Kernel kernel(*test.statement, [&](const Obligation& obligation) {
    const std::string goal = obligation.goal ? test.atoms.text(*obligation.goal) : "false";
    obligations += " if " + (obligation.indicators.empty() ? goal : "indicators cancel");
  });
  try {
    Sum sum = test.statement->difference(0);
    const Kernel::Context context{conjunction(test.statement->facts(), test.statement->index_ranges(0)), {}};
    kernel.run(sum, context, parse_proof("typing\noutput\n" + example.steps, "steps", 1, test.atoms).outputs[0].steps);
    return test.statement->text(sum) + obligations;
  } catch (const CheckError& error) {
    return "refused: " + error.what;
  }
}

}  // namespace

TEST_CASE("each step rewrites a small sum, and is refused where a side condition is violated") {
  const auto examples = read_examples();
  for (const auto& [name, all] : examples) {
    CHECK_FALSE(apply(all.at(0)).starts_with("refused"));
    for (const Example& example : all) {
      INFO(name << "\n" << example.rule << "\n" << example.steps);
      CHECK(apply(example) == example.result);
    }
  }
}

TEST_CASE("each step has an example, and one that is refused") {
  const auto examples = read_examples();
  CHECK(examples.size() == static_cast<std::size_t>(Step::Op::Unfold) + 1);
  const Atoms atoms;
  for (int op = 0; op <= static_cast<int>(Step::Op::CancelSum); ++op) {
    Step step;
    step.op = static_cast<Step::Op>(op);
    step.polys.resize(2);
    const std::string text = to_string(step, atoms), name = text.substr(0, text.find_first_of(" :;"));
    INFO(name);
    REQUIRE(examples.contains(name));
    const auto refused = [](const Example& example) { return example.result.starts_with("refused"); };
    CHECK(std::ranges::any_of(examples.at(name), refused));
  }
}
