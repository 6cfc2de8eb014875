// Rules for any stride, kernel or padding: replaces integer parameters by symbolic ones and back, and enum values by
// others.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "algebra/terms/term.h"

namespace rulemill::algebra {

/// Integer parameters of a rule that become one symbolic parameter: those of equal name and value and, if classes are
/// formed by height, of equal height. The height of a parameter is the number of operators with a parameter of that
/// name on the longest path below its node.
struct ParameterClass {
  std::string name;
  ParameterValue value;
  std::uint32_t height = 0;
  bool operator==(const ParameterClass&) const = default;
};

/// The classes that the definitions allow to be symbolic, in order of first use.
std::vector<ParameterClass> parameter_classes(const Rule& rule, const TermBank& bank, bool by_height);

/// Replaces each class in a typed rule by one size (or list of sizes) named after it: a number from 0 on if the value
/// is or contains 0, otherwise from 1 on. nullopt if a definition needs the number. The result is not implied by the
/// rule and must be proved.
std::optional<Rule> with_symbolic_parameters(const Rule& rule, const std::vector<ParameterClass>& classes,
                                             Library& library, TermBank& bank, Symbols& symbols, bool by_height);

/// Substitutes sizes. Symbolic parameters whose sizes become numbers become numbers. nullopt if an operator has no such
/// instance, or if the condition cannot hold.
std::optional<Rule> substitute_sizes(const Rule& rule, const Substitution& sizes, Library& library, TermBank& bank,
                                     Symbols& symbols);

using SymbolicSizeVisitor = std::function<void(const SymbolicParameter& parameter, Atom size)>;
/// Visits each use of a size as a symbolic parameter of a node.
void visit_symbolic_sizes(const Rule& rule, const TermBank& bank, const SymbolicSizeVisitor& visit);
/// The sizes of a rule that are symbolic parameters of its nodes, in order of first use.
std::vector<Atom> symbolic_parameter_sizes(const Rule& rule, const TermBank& bank);

/// The names of the symbolic parameters of a rule, each once, in order of first use.
std::vector<std::string> symbolic_parameter_names(const Rule& rule, const TermBank& bank);

/// The parameters of a rule with one name and one enum value, and the values that all of them allow instead.
struct EnumClass {
  std::string name, value;
  std::vector<std::string> alternatives;
};

/// In order of first use.
std::vector<EnumClass> enum_classes(const Rule& rule, const TermBank& bank);

/// Replaces the value of a class in a typed rule. nullopt if an operator has no such instance, or if the rule no longer
/// types for all its sizes. The result is not implied by the rule and must be proved.
std::optional<Rule> with_enum_value(const Rule& rule, const EnumClass& enum_class, const std::string& value,
                                    Library& library, TermBank& bank, Symbols& symbols);

}  // namespace rulemill::algebra
