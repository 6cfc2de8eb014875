#include "prove/tasks/generalize.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "algebra/terms/dimension_packs.h"
#include "algebra/terms/symbolic_parameters.h"
#include "algebra/terms/term.h"
#include "prove/certificate/certificate.h"

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

/// Calls the function for each way to split a variable of a typed rule in two, both of which occur on both sides, until
/// it returns true. Variables with more than 6 uses are not split. Returns whether a call returned true.
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

using algebra::ParameterClass;
using algebra::Rule;

class Generalizer {
 public:
  Generalizer(const Rule& rule, algebra::Library& library, algebra::TermBank& bank, algebra::Symbols& symbols,
              const ProverOptions& options)
      : rule_(rule),
        library_(library),
        bank_(bank),
        symbols_(symbols),
        options_(options),
        prover_(bank, symbols, options) {}

  std::optional<GeneralRule> run() {
    const bool is_split = split_variables();
    make_parameters_symbolic();
    add_outer_dimensions();
    Rule general = algebra::generalize_rank(rule_, library_, bank_, symbols_);
    if (!is_split && general.packs.empty() && algebra::symbolic_parameter_sizes(general, bank_).empty())
      return std::nullopt;
    const std::string statement = statement_of(general, bank_, symbols_);
    std::string reason;
    const auto certificate = certify_by_definitions(statement, library_, options_, reason);
    if (!certificate) return std::nullopt;
    return GeneralRule{std::move(general), to_string(*certificate)};
  }

 private:
  /// Splits variables with several uses as often as the rule still holds. Returns whether it did.
  bool split_variables() {
    bool changed = false;
    while (any_split(rule_, bank_, [&](const Rule& wider) { return replace_if_proved(wider); })) changed = true;
    return changed;
  }

  /// Tries all classes together, first with as few links between parameters as possible; then one after the other.
  void make_parameters_symbolic() {
    const std::vector<ParameterClass> linked = algebra::parameter_classes(rule_, bank_, false);
    const std::vector<ParameterClass> split = algebra::parameter_classes(rule_, bank_, true);
    if (linked.empty() || (split.size() > linked.size() && make_symbolic(split, true)) || make_symbolic(linked, false))
      return;
    if (linked.size() == 1) return;
    for (const ParameterClass& each : linked) make_symbolic({each}, false);
  }

  bool make_symbolic(const std::vector<ParameterClass>& classes, bool by_height) {
    auto symbolic = algebra::with_symbolic_parameters(rule_, classes, library_, bank_, symbols_, by_height);
    return symbolic && replace_if_proved(*symbolic);
  }

  /// Adds a first or last dimension unless every shape has a dimension pack there.
  void add_outer_dimensions() {
    for (const bool in_front : {true, false}) {
      const std::vector<algebra::Atom> packs = algebra::generalize_rank(rule_, library_, bank_, symbols_).packs;
      const auto has_pack = [&](const algebra::Shape& shape) {
        const auto atom = shape.empty() ? std::nullopt : (in_front ? shape.front() : shape.back()).atom();
        return atom && std::ranges::find(packs, *atom) != packs.end();
      };
      if (std::ranges::all_of(rule_.shapes, has_pack)) continue;
      if (const auto wider = algebra::with_outer_dimension(rule_, in_front, library_, bank_, symbols_))
        replace_if_proved(*wider);
    }
  }

  /// Replaces the rule by a more general one if that is proved without a further condition.
  bool replace_if_proved(const Rule& wider) {
    const Verdict verdict = prover_.prove(wider);
    const auto* proved = std::get_if<Proved>(&verdict);
    if (proved == nullptr || !proved->found.empty() || proved->typed.rule.shapes != wider.shapes) return false;
    rule_ = proved->typed.rule;
    return true;
  }

  Rule rule_;
  algebra::Library& library_;
  algebra::TermBank& bank_;
  algebra::Symbols& symbols_;
  const ProverOptions& options_;
  Prover prover_;
};

}  // namespace

std::optional<GeneralRule> generalize(const Rule& rule, algebra::Library& library, algebra::TermBank& bank,
                                      algebra::Symbols& symbols, const ProverOptions& options) {
  ProverOptions without_conditions = options;
  without_conditions.find_conditions = false;
  return Generalizer(rule, library, bank, symbols, without_conditions).run();
}

}  // namespace rulemill::prove
