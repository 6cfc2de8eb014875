#include "algebra/library/definition_check.h"

#include <array>
#include <random>

#include "algebra/execution/plan.h"
#include "algebra/expansion/pack_lengths.h"
#include "algebra/language/lexer.h"
#include "algebra/library/law_equations.h"
#include "algebra/properties/laws.h"
#include "algebra/properties/scalar_kinds.h"
#include "algebra/properties/symmetry.h"
#include "algebra/sizes/checked.h"

namespace rulemill::algebra {

using runtime::InputError;

void check_laws(syntax::FunctionSyntax& syntax) {
  Function& function = syntax.function;
  for (const syntax::DeclaredLaw& declared : syntax.laws) {
    const LawVerdict verdict = check_law(function, declared.law);
    if (verdict.kind == LawVerdict::Kind::Refuted)
      throw InputError(declared.place, "the law " + declared.text + " does not hold: " + verdict.counterexample);
    if (verdict.kind == LawVerdict::Kind::Assumed) function.assumed_laws.push_back(declared.text);
    if (declared.law == Law::ZeroToZero) function.maps_zero_to_zero = true;
    if (declared.law == Law::Idempotent) function.idempotent = true;
    if (declared.law == Law::Commutative) function.commutative = true;
    if (declared.law == Law::Exponential) function.exponential = true;
    if (declared.law == Law::Homogeneous) function.degree = 1;
    if (declared.law == Law::Reciprocal) function.degree = -1;
    if (declared.law == Law::Monotone) function.monotone = true;
    if (declared.law == Law::Odd) function.parity = -1;
    if (declared.law == Law::Even) function.parity = 1;
  }
  for (const syntax::DeclaredEquation& equation : syntax.equations) {
    if (const auto found = find_counterexample(equation))
      throw InputError(equation.place, "the law " + equation.text + " does not hold: its sides are " + *found);
  }
}

namespace {

/// Whether exchanging the inputs changes the result for some small random values.
bool is_changed_by_exchange(const OperatorInstance& instance, std::span<const Function> functions) {
  for (const std::int64_t size : {2, 3, 4}) {
    const std::vector<std::vector<std::int64_t>> shapes = {std::vector<std::int64_t>(instance.inputs[0].size(), size),
                                                           std::vector<std::int64_t>(instance.inputs[1].size(), size)};
    const std::optional<EvaluationPlan> plan = compile(instance, shapes, {});
    if (!plan) continue;
    std::mt19937_64 random(static_cast<std::uint64_t>(size));
    std::array<std::vector<double>, 2> values;
    for (std::size_t i = 0; i < 2; ++i) {
      const std::int64_t count = element_count(shapes[i]);
      for (std::int64_t k = 0; k < count; ++k) values[i].push_back(static_cast<double>(random() % 19) - 9);
    }
    const std::array<std::span<const double>, 2> forward = {values[0], values[1]}, backward = {values[1], values[0]};
    if (evaluate(functions, *plan, forward) != evaluate(functions, *plan, backward)) return true;
  }
  return false;
}

[[noreturn]] void reject(const syntax::Operator& op, const std::string& why) {
  throw InputError(place(op.origin, op.place.line, op.place.column), "operator '" + op.name + "': " + why);
}

void check_commutative(const syntax::Operator& op, const OperatorInstance& instance,
                       std::span<const Function> functions) {
  const std::optional<std::string> reason = find_asymmetry(instance, functions);
  if (!reason) return;
  const bool same_types = instance.inputs.size() == 2 && instance.size_parameter_count() == 0 &&
                          instance.inputs[0].size() == instance.inputs[1].size();
  const std::string why = same_types && is_changed_by_exchange(instance, functions)
                              ? "exchanging its inputs changes the result"
                              : *reason + "; a rule that exchanges them can be proved instead";
  reject(op, "it is declared commutative, but " + why);
}

}  // namespace

void check_declared_properties(const syntax::Operator& op, const OperatorInstance& instance,
                               std::span<const Function> functions) {
  if (instance.commutative) check_commutative(op, instance, functions);
  if (const std::optional<std::string> reason = find_kind_mismatch(instance, functions)) reject(op, *reason);
}

namespace {

class DefinitionChecker {
 public:
  DefinitionChecker(const syntax::Operator& op, std::span<const Function> functions, const ExpansionContext& context)
      : op_(op), functions_(functions), context_(context) {}

  void check() {
    bool any = false;
    for (std::uint32_t length : {1U, 2U}) {
      std::vector<std::uint32_t> ranks;
      bool has_pack = false;
      for (const syntax::Input& input : op_.inputs) {
        std::uint32_t rank = 0;
        for (const syntax::InputDim& dim : input.dims) {
          has_pack = has_pack || dim.is_pack;
          rank += dim.is_pack ? length : 1;
        }
        ranks.push_back(rank);
      }
      for (const syntax::Parameter& parameter : op_.parameters) {
        if (parameter.kind != ParameterKind::Sizes || !has_explicit_rank(op_)) continue;
        has_pack = true;
        ranks.push_back(length);
      }
      if (length == 2 && !has_pack) break;
      any = any || pack_lengths(op_, ranks).has_value();
      if (pack_lengths(op_, ranks)) check_values_from(0, {}, ranks);
    }
    if (!any) fail("no ranks of its inputs fit together");
  }

 private:
  [[noreturn]] void fail(const std::string& message) const { reject(op_, message); }

  void check_values_from(std::size_t at, Parameters chosen, std::span<const std::uint32_t> ranks) {
    if (at == op_.parameters.size()) {
      const OperatorInstance instance = expand(op_, chosen, ranks, context_);
      check_declared_properties(op_, instance, functions_);
      return;
    }
    const syntax::Parameter& parameter = op_.parameters[at];
    if (parameter.kind == ParameterKind::Size || parameter.kind == ParameterKind::Sizes)
      return check_values_from(at + 1, chosen, ranks);
    const std::uint32_t rank = ranks.empty() ? 0 : ranks[0];
    std::vector<ParameterValue> values = sample_values(parameter, rank);
    if (values.empty()) values = {parameter.default_value.value_or(ParameterValue(std::int64_t{3}))};
    if (parameter.kind == ParameterKind::Ints) {
      const auto packs = pack_lengths(op_, ranks, chosen);
      if (!packs->contains(parameter.pack))
        fail("parameter '" + parameter.name + "' has one number for each of '" + parameter.pack +
             "', which is no pack");
      const auto* number = std::get_if<std::int64_t>(&values[0]);
      values = {std::vector<std::int64_t>(packs->at(parameter.pack), number == nullptr ? 1 : *number)};
    }
    for (const ParameterValue& value : values) {
      chosen[parameter.name] = value;
      check_values_from(at + 1, chosen, ranks);
    }
  }

  static std::vector<ParameterValue> sample_values(const syntax::Parameter& parameter, std::uint32_t rank) {
    std::vector<ParameterValue> values;
    values.assign(parameter.enum_values.begin(), parameter.enum_values.end());
    values.insert(values.end(), parameter.int_values.begin(), parameter.int_values.end());
    if (parameter.kind == ParameterKind::Axis) {
      for (std::uint32_t axis = 0; axis < rank; ++axis) values.emplace_back(std::int64_t{axis});
    }
    if (parameter.kind == ParameterKind::Permutation) {
      std::vector<std::int64_t> reversed(rank);
      for (std::uint32_t i = 0; i < rank; ++i) reversed[i] = rank - 1 - i;
      values.emplace_back(reversed);
    }
    if (parameter.kind == ParameterKind::Axes || parameter.kind == ParameterKind::NewAxes)
      values.emplace_back(std::vector<std::int64_t>{0});
    if (parameter.kind == ParameterKind::Spread) values.emplace_back(std::vector<std::int64_t>());
    return values;
  }

  const syntax::Operator& op_;
  std::span<const Function> functions_;
  const ExpansionContext& context_;
};

}  // namespace

void check_definition(const syntax::Operator& op, std::span<const Function> functions,
                      const ExpansionContext& context) {
  DefinitionChecker(op, functions, context).check();
}

}  // namespace rulemill::algebra
