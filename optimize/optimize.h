// The command `rulemill optimize`: rewrites a model with the rules of databases into a cheaper model of the same
// function.
#pragma once

#include <functional>
#include <vector>

#include "algebra/rules/rule_set.h"
#include "optimize/options.h"
#include "optimize/report/summary.h"

namespace rulemill::optimize {

/// Runs all passes. If no candidate passes verification, the cleaned model is written, and the summary has a warning.
/// Throws InputError (model, database) and UsageError (options).
Summary run(const Options& options);

/// Runs all passes with rules in memory. General rules are specialized to the operators of the model. The rules are
/// over `library`, `terms` and `symbols`. If `before_writing` throws, nothing is written; its argument names the rules
/// that fired.
Summary run(const Options& options, algebra::Library& library, algebra::TermBank& terms, algebra::Symbols& symbols,
            const std::vector<algebra::RuleRecord>& rules,
            const std::function<void(const Summary&)>& before_writing = {});

}  // namespace rulemill::optimize
