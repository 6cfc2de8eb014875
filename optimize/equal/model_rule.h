// ONNX models as terms. Two are one rule: the first is the source, the second the target.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "algebra/terms/rule_text.h"

namespace rulemill::optimize {

/// A model as terms over those inputs that it uses, in its order, and its constants.
struct ModelAsTerms {
  algebra::Rule rule;                            // both sides: the outputs
  std::map<std::string, std::string> constants;  // by variable: the number that all elements are, or ""
};
/// Reads a model. Names become those of the text form of rules. Throws InputError also for a node without a definition.
ModelAsTerms read_model_terms(const std::filesystem::path& path, algebra::Library& library, algebra::TermBank& terms,
                              algebra::Symbols& symbols);

/// Reads the rule "before => after", named after the second file. Inputs are variables, matched by name. A constant
/// that both models use is a variable, too, so that the rule does not depend on its value; one that only one of them
/// uses must be the value of an operator without inputs, such as zeros. Shapes are not part of the rule: it gets the
/// most general type. Throws InputError if the models have different inputs or outputs; what a rule cannot say, such as
/// a node without a definition, is the rule's problem.
algebra::ImportedRule read_model_rule(const std::filesystem::path& before, const std::filesystem::path& after,
                                      algebra::Library& library, algebra::TermBank& terms, algebra::Symbols& symbols);

}  // namespace rulemill::optimize
