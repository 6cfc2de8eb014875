// Derivations from rules that are derived themselves: an instance of such a rule becomes the instances that imply it,
// at its terms and sizes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "algebra/terms/equal_products.h"
#include "prove/certificate/instance_text.h"

namespace rulemill::prove {

class Composition {
 public:
  explicit Composition(algebra::Library& library) : library_(library), bank_(library) {}

  /// A derived rule, typed, in text form, and the lines of instances that imply it; those of rules that are derived,
  /// too, were added before. False, and no composition cites the rule, if such a one could not be added.
  bool add(const std::string& name, const std::string& rule, const std::string& instances);

  /// No composition cites this rule: no instances are known that imply it.
  void refuse(const std::string& name) { derived_[name]; }

  /// The lines of a goal's derivation from rules that were not added; nothing if one that add() refused is cited, or
  /// one at sizes to which equal products of its own can't be dealt out.
  std::optional<std::string> compose(const std::string& goal, const std::string& instances);

 private:
  struct DerivedRule {
    algebra::Rule rule;                             // equal products dealt out
    std::vector<algebra::EqualProducts> equations;  // those
    std::vector<Instance> instances;                // over its variables and sizes
  };

  algebra::DealtOut goal_of(const std::string& rule);
  bool add_instances(const Instance& outer, const DerivedRule& of, std::vector<std::string>& lines);

  algebra::Library& library_;
  algebra::TermBank bank_;
  algebra::Symbols symbols_;
  std::map<std::string, std::optional<DerivedRule>> derived_;
};

}  // namespace rulemill::prove
