// Times the derivations of a database's derived rules from its core: derive_bench RULES.rmdb
#include <algorithm>
#include <cstdio>

#include "algebra/rules/rule_set.h"
#include "egraph/derive.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"

using namespace rulemill;

namespace {

int run(const char* path) {
  algebra::Library library = algebra::Library::load("data/operators");
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  const algebra::RuleSet set = algebra::load_rule_set(path, library, bank, symbols);
  egraph::Deriver deriver(bank, symbols);
  std::vector<algebra::TypedRule> goals;
  for (const algebra::RuleRecord& record : set.rules) {
    auto typed = algebra::infer_types(record.rule, bank, symbols);
    if (const auto* error = std::get_if<algebra::TypeError>(&typed)) {
      throw runtime::InputError(path, "rule " + record.rule.id + " is ill-typed: " + error->what);
    }
    if (record.rule.tier == algebra::Tier::Core) {
      deriver.add(std::get<algebra::TypedRule>(typed));
    } else {
      goals.push_back(std::get<algebra::TypedRule>(std::move(typed)));
    }
  }
  if (goals.empty()) throw runtime::InputError(path, "has no derived rules");
  std::vector<double> times;
  std::size_t outcomes[3] = {}, instances = 0, nodes = 0;
  for (const algebra::TypedRule& goal : goals) {
    const runtime::Stopwatch watch;
    const egraph::Derivation derivation = deriver.derive(goal);
    times.push_back(1e3 * watch.seconds());
    ++outcomes[derivation.index()];
    nodes += deriver.statistics().nodes;
    if (const auto* derived = std::get_if<egraph::Derived>(&derivation)) instances += derived->instances.size();
  }
  std::ranges::sort(times);
  double total = 0;
  for (const double time : times) total += time;
  const auto count = static_cast<double>(goals.size());
  std::printf("%u core rules, %zu goals: %zu derived, %zu saturated, %zu at a limit\n", deriver.rule_count(),
              goals.size(), outcomes[0], outcomes[1], outcomes[2]);
  std::printf("ms per goal: mean %.4f, median %.4f, 99%% %.4f, maximum %.4f; %.1f nodes, %.1f rule instances\n",
              total / count, times[times.size() / 2], times[times.size() * 99 / 100], times.back(),
              static_cast<double>(nodes) / count, static_cast<double>(instances) / count);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw runtime::UsageError("", "usage: derive_bench RULES.rmdb");
    return run(argv[1]);
  } catch (const runtime::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.exit_code();
  }
}
