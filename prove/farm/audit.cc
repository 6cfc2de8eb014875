#include "prove/farm/audit.h"

#include "algebra/terms/rule_text.h"
#include "prove/farm/general_core.h"

namespace rulemill::prove {
namespace {

constexpr std::size_t goals_at_once = 32;

class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds), begin_(std::chrono::steady_clock::now()) {}
  ~Stopwatch() { seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point begin_;
};

std::string no_answer(const std::string& reason) { return reason; }

}  // namespace

CrossReport cross_check(const std::vector<std::string>& rules, Crew& crew) {
  CrossReport report;
  const Stopwatch watch(report.seconds);
  report.rules = rules.size();
  const auto failed = [](const std::string& reason) {
    Outcome outcome;
    outcome.detail = reason;
    return pack(outcome);
  };
  for (std::size_t i = 0; const std::string& text : crew.run_each(TaskKind::ProveRule, rules, 1, failed)) {
    const Outcome outcome = unpack_outcome(text);
    const std::string name = rules[i].substr(0, rules[i].find('('));
    ++i;
    if (outcome.kind == Outcome::Kind::Proved)
      ++report.proved;
    else if (outcome.kind == Outcome::Kind::Refuted)
      report.refuted.emplace_back(name, outcome.detail);
    else
      report.unknown.emplace_back(name, outcome.detail);
  }
  return report;
}

MinimalityReport check_minimality(const algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
                                  algebra::Symbols& symbols, Crew& crew) {
  MinimalityReport report;
  std::vector<std::string> core_names, underived_names, changes, numbers, underived, names;
  for (std::size_t i = 0; i < rules.rules.size(); ++i) names.push_back("c" + std::to_string(i + 1));
  const FamilyTexts families = family_texts(rules, names, library, bank, symbols);
  for (std::size_t i = 0; i < rules.rules.size(); ++i) {
    const algebra::RuleRecord& record = rules.rules[i];
    const std::string text = algebra::to_string(record.rule, bank, symbols);
    if (record.rule.tier == algebra::Tier::Core) {
      const std::vector<std::string>& instances = families.texts[i];
      const KnownRule known{static_cast<std::uint32_t>(changes.size()), static_cast<std::uint32_t>(instances.size())};
      numbers.push_back(to_text(known));
      core_names.push_back(record.rule.id);
      changes.push_back(adding(text));
      for (const std::string& instance : instances) changes.push_back(adding(instance));
      report.instances += instances.size();
      continue;
    }
    ++report.shortcuts;
    if (record.certificate.kind == algebra::Certificate::Kind::Derivation) continue;
    underived_names.push_back(record.rule.id);
    underived.push_back(text);
  }
  crew.change(changes);
  {
    const Stopwatch watch(report.seconds_core);
    report.core = core_names.size();
    const std::vector<std::string> answers = crew.run_each(TaskKind::Superfluous, numbers, goals_at_once, no_answer);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (answers[i] == implied_yes)
        report.implied.push_back(core_names[i]);
      else if (answers[i] == implied_no)
        ++report.independent;
      else
        report.at_limit.push_back(core_names[i]);
    }
  }
  const Stopwatch watch(report.seconds_shortcuts);
  const std::vector<std::string> answers = crew.run_each(TaskKind::Implied, underived, goals_at_once, no_answer);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i] != implied_yes) report.not_implied.push_back(underived_names[i]);
  }
  return report;
}

}  // namespace rulemill::prove
