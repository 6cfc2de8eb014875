// Rules as the program text of another system.
#pragma once

#include <string>
#include <vector>

#include "algebra/terms/term.h"

namespace rulemill::algebra {

/// A rule that a form cannot express, and why.
struct SkippedRule {
  std::string rule, reason;
};

/// Thrown for a rule that cannot be exported.
struct NotExpressible {
  std::string reason;
};

/// A typed rule to export, source to target, and how its proof is named in the file.
struct RuleToExport {
  Rule rule;
  std::string proof;
};

struct ExportedRules {
  std::string text;
  std::vector<std::string> written;  // names of the rules, in the file's order
  std::vector<SkippedRule> skipped;
};

/// The parts of a file that do not depend on its rules.
struct ExportFrame {
  std::string title, prelude;
};

/// The header of a file: one line, then each reason with the rules that it applies to, all after `comment`.
std::string export_header(const std::string& title, const ExportedRules& rules, const std::string& comment);

}  // namespace rulemill::algebra
