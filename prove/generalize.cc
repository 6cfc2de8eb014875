#include "prove/generalize.h"

#include <algorithm>

#include "algebra/terms/any_rank.h"
#include "algebra/terms/open_parameters.h"
#include "prove/certificate/certificate.h"

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

  std::optional<General> run() {
    open_parameters();
    widen();
    Rule general = algebra::at_any_rank(rule_, library_, bank_, symbols_);
    if (general.groups.empty() && algebra::open_sizes(general, bank_).empty()) return std::nullopt;
    const std::string statement = statement_of(general, bank_, symbols_);
    std::string reason;
    const auto certificate = certify_by_definitions(statement, library_, options_, reason);
    if (!certificate) return std::nullopt;
    return General{std::move(general), to_string(*certificate)};
  }

 private:
  /// All classes at once where that can be proved, the weakest link between them first; else one after the other.
  void open_parameters() {
    const std::vector<ParameterClass> linked = algebra::parameter_classes(rule_, bank_, false);
    const std::vector<ParameterClass> apart = algebra::parameter_classes(rule_, bank_, true);
    if (linked.empty() || (apart.size() > linked.size() && open(apart, true)) || open(linked, false)) return;
    if (linked.size() == 1) return;
    for (const ParameterClass& each : linked) open({each}, false);
  }

  bool open(const std::vector<ParameterClass>& classes, bool by_height) {
    auto opened = algebra::with_open(rule_, classes, library_, bank_, symbols_, by_height);
    return opened && take(*opened);
  }

  /// A new first or last dimension, where no group stands in that place everywhere.
  void widen() {
    for (const bool in_front : {true, false}) {
      const std::vector<algebra::Atom> groups = algebra::at_any_rank(rule_, library_, bank_, symbols_).groups;
      const auto in_place = [&](const algebra::Shape& shape) {
        const auto atom = shape.empty() ? std::nullopt : (in_front ? shape.front() : shape.back()).atom();
        return atom && std::ranges::find(groups, *atom) != groups.end();
      };
      if (std::ranges::all_of(rule_.shapes, in_place)) continue;
      if (const auto wider = algebra::widened(rule_, in_front, library_, bank_, symbols_)) take(*wider);
    }
  }

  /// The more general rule instead of the one at hand, if it is proved as it stands: under no further condition.
  bool take(const Rule& wider) {
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

std::optional<General> generalize(const Rule& rule, algebra::Library& library, algebra::TermBank& bank,
                                  algebra::Symbols& symbols, const ProverOptions& options) {
  ProverOptions plain = options;
  plain.find_conditions = false;
  return Generalizer(rule, library, bank, symbols, plain).run();
}

}  // namespace rulemill::prove
