#include "cli/rules/rule_check.h"

#include <fmt/format.h>

#include "prove/certificate/check.h"
#include "runtime/text/error.h"

namespace rulemill::cli {

void require_valid_certificates(const std::filesystem::path& database, const algebra::RuleSet& rules,
                                const std::set<std::string>& ids, algebra::Library& library, algebra::TermBank& bank,
                                algebra::Symbols& symbols) {
  const prove::CheckReport report =
      prove::check(prove::select_with_premises(rules, ids), library, bank, symbols, prove::CheckOptions());
  if (report.findings.empty()) return;
  const prove::CheckFinding& first = report.findings.front();
  throw runtime::InputError(database.string(),
                            fmt::format("rule {}, on which the result depends, is invalid: {}; nothing was written, "
                                        "see `rulemill check`",
                                        first.rule, first.what));
}

}  // namespace rulemill::cli
