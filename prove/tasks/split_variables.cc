#include "prove/tasks/split_variables.h"

#include <algorithm>
#include <string>
#include <utility>

namespace rulemill::prove {
namespace {

using algebra::Rule;
using algebra::TermId;

constexpr unsigned max_uses = 6;

/// Returns the number of uses of the variable below the terms, seen as trees; more than the limit if there are more.
unsigned count_uses(const std::vector<TermId>& terms, TermId variable, const algebra::TermBank& bank) {
  unsigned uses = 0;
  for (const TermId term : terms) {
    if (uses > max_uses) break;
    if (term == variable)
      ++uses;
    else if (!bank.term(term).is_variable)
      uses += count_uses(bank.node_of(term).arguments, variable, bank);
  }
  return uses;
}

/// Replaces the uses of a variable whose bits are set, numbered from 0 in the order of the trees.
class UseReplacer {
 public:
  UseReplacer(TermId variable, TermId replacement, unsigned chosen, algebra::TermBank& bank)
      : variable_(variable), replacement_(replacement), chosen_(chosen), bank_(bank) {}

  std::vector<TermId> replace(const std::vector<TermId>& terms) {
    std::vector<TermId> result;
    for (const TermId term : terms) result.push_back(replace(term));
    return result;
  }

 private:
  TermId replace(TermId id) {
    if (id == variable_) return (chosen_ >> next_use_++ & 1) != 0 ? replacement_ : variable_;
    const algebra::Term term = bank_.term(id);  // a copy: the bank grows
    if (term.is_variable) return id;
    const algebra::Node node = bank_.node(term.node);
    return bank_.output(bank_.apply(node.instance, replace(node.arguments), node.sizes), term.output);
  }

  TermId variable_, replacement_;
  unsigned chosen_, next_use_ = 0;
  algebra::TermBank& bank_;
};

/// Returns a name that no variable of the rule has: that of the variable with another number.
std::string unused_name(const Rule& rule, const std::string& name, const algebra::TermBank& bank) {
  const std::string stem = name.substr(0, name.find_last_not_of("0123456789") + 1);
  for (unsigned number = 1;; ++number) {
    std::string unused = stem + std::to_string(number);
    if (std::ranges::none_of(rule.variables, [&](TermId id) { return bank.term(id).name == unused; })) return unused;
  }
}

}  // namespace

bool any_split(const Rule& rule, algebra::TermBank& bank, const std::function<bool(const Rule&)>& accept) {
  for (std::size_t v = 0; v < rule.variables.size(); ++v) {
    const TermId variable = rule.variables[v];
    const unsigned source = count_uses(rule.source, variable, bank), target = count_uses(rule.target, variable, bank);
    if (source < 2 || target < 2 || source + target > max_uses) continue;
    const algebra::Term term = bank.term(variable);
    const TermId added = bank.variable(unused_name(rule, term.name, bank), term.rank);
    Rule split = rule;
    split.variables.push_back(added);
    split.shapes.push_back(rule.shapes[v]);
    const unsigned all_source = (1U << source) - 1, all_target = (1U << target) - 1;
    // The first use keeps the variable. Each side keeps one use, and gets one of the new variable.
    for (unsigned of_source = 2; of_source < all_source; of_source += 2) {
      split.source = UseReplacer(variable, added, of_source, bank).replace(rule.source);
      for (unsigned of_target = 1; of_target < all_target; ++of_target) {
        split.target = UseReplacer(variable, added, of_target, bank).replace(rule.target);
        if (accept(split)) return true;
      }
    }
  }
  return false;
}

}  // namespace rulemill::prove
