#include "prove/tasks/generalize.h"

#include <algorithm>

#include "algebra/terms/dimension_packs.h"
#include "algebra/terms/symbolic_parameters.h"
#include "prove/certificate/certificate.h"
#include "prove/tasks/split_variables.h"

namespace rulemill::prove {
namespace {

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
