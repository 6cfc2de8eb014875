// Rules as the program text of another system.
#pragma once

#include <string>
#include <vector>

namespace rulemill::algebra {

/// A rule that a form cannot express, and why.
struct SkippedRule {
  std::string rule, reason;
};

/// Thrown for a rule that cannot be exported.
struct NotExpressible {
  std::string reason;
};

struct ExportedRules {
  std::string text;
  std::vector<std::string> written;  // names of the rules, in the file's order
  std::vector<SkippedRule> skipped;
};

}  // namespace rulemill::algebra
