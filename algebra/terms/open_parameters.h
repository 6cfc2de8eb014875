// Rules for any stride, kernel or padding: integer parameters of a rule's operators left open, and given numbers again;
// words replaced by others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algebra/terms/term.h"

namespace rulemill::algebra {

/// Integer parameters of a rule that are opened as one: of one name, with one value; if told apart, by
/// how many operators with a parameter of that name stand below it, too.
struct ParameterClass {
  std::string name;
  ParameterValue value;
  std::uint32_t height = 0;
  bool operator==(const ParameterClass&) const = default;
};

/// In order of first use; those alone that a definition lets be open.
std::vector<ParameterClass> parameter_classes(const Rule& rule, const TermBank& bank, bool by_height);

/// The typed rule with each class open: one size, or one list of them, for all its parameters, named after it; from 0
/// on if 0 is its value or in it, from 1 on otherwise. Not implied by the rule: it is to be proved. Nothing where a
/// definition needs the number.
std::optional<Rule> with_open(const Rule& rule, const std::vector<ParameterClass>& classes, Library& library,
                              TermBank& bank, Symbols& symbols, bool by_height);

/// The rule with sizes replaced; open parameters whose sizes are numbers then are open no more. Nothing where an
/// operator has no such instance.
std::optional<Rule> with_sizes(const Rule& rule, const Substitution& sizes, Library& library, TermBank& bank,
                               Symbols& symbols);

/// Sizes of a rule that are open parameters of its nodes, in order of first use.
std::vector<Atom> open_sizes(const Rule& rule, const TermBank& bank);

/// The names of parameters that are open in a rule, each once, in order of first use.
std::vector<std::string> open_names(const Rule& rule, const TermBank& bank);

/// A word that all parameters of one name with it have in a rule, and those that they may have instead.
struct WordClass {
  std::string name, word;
  std::vector<std::string> others;
};

/// In order of first use.
std::vector<WordClass> word_classes(const Rule& rule, const TermBank& bank);

/// The typed rule with another word in the place of a class's. Not implied by the rule: it is to be proved. Nothing
/// where an operator has no such instance, or the rule does not type so for all sizes for which it did.
std::optional<Rule> with_word(const Rule& rule, const WordClass& words, const std::string& word, Library& library,
                              TermBank& bank, Symbols& symbols);

}  // namespace rulemill::algebra
