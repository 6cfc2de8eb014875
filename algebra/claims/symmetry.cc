#include "algebra/claims/symmetry.h"

#include <algorithm>
#include <set>
#include <utility>

#include "algebra/claims/sum_form.h"
#include "algebra/language/function_domain.h"
#include "algebra/sizes/checked.h"

namespace rulemill::algebra {
namespace {

/// The text of an instance's type rule and outputs, as they are or with its two inputs exchanged.
class Form {
 public:
  Form(const Instance& instance, std::span<const Function> functions, bool exchanged,
       std::span<const std::uint32_t> slots)
      : instance_(instance), functions_(functions), exchanged_(exchanged) {
    std::vector<Poly> sizes;
    for (std::size_t slot = 0; slot < slots.size(); ++slot)
      sizes.emplace_back(symbols_.size("s" + std::to_string(slot)));
    for (const std::uint32_t slot : slots) sizes_.push_back(sizes[slot]);
    for (std::uint32_t i = 0; i <= instance.index_slots + most_dimensions; ++i) {
      indices_.emplace_back(symbols_.index("i" + std::to_string(i)));
    }
  }

  std::string types() {
    std::vector<std::string> conditions;
    for (const Comparison& condition : instance_.conditions) conditions.push_back(text(condition));
    std::ranges::sort(conditions);
    std::string result;
    for (const std::string& condition : conditions) result += condition + ";";
    for (const TensorDefinition& output : instance_.outputs) result += dims(output);
    return result;
  }

  std::string values() {
    std::string result;
    for (const TensorDefinition& output : instance_.outputs) result += form(*output.body).text() + ";";
    return result;
  }

  /// Where which partial function is applied to what, in each element of each tensor: terms may cancel, demands stay.
  std::set<std::string> demands() {
    std::set<std::string> result;
    const auto collect = [&](const TensorDefinition& made) {
      around_ = dims(made);
      demands_ = &result;
      form(*made.body);
      demands_ = nullptr;
    };
    std::ranges::for_each(instance_.intermediates, collect);
    std::ranges::for_each(instance_.outputs, collect);
    return result;
  }

 private:
  static constexpr std::uint32_t most_dimensions = 16;

  std::string text(const IndexExpr& expr) { return symbols_.to_string(evaluate(expr, sizes_, indices_, symbols_)); }

  std::string text(const Comparison& comparison) {
    const char* relations[] = {"=", "!=", "<", "<="};
    const Poly difference =
        evaluate(*comparison.a, sizes_, indices_, symbols_) - evaluate(*comparison.b, sizes_, indices_, symbols_);
    const bool either = comparison.relation == Relation::Eq || comparison.relation == Relation::Ne;
    const Poly shown = either ? std::max(difference, -difference) : difference;
    return symbols_.to_string(shown) + relations[static_cast<std::size_t>(comparison.relation)] + "0";
  }

  std::string dims(const TensorDefinition& tensor) {
    std::string result = "[";
    for (const IndexExprPtr& dim : tensor.dims) result += text(*dim) + ",";
    return result + "]";
  }

  /// An input by its number, an intermediate by its definition.
  std::string tensor(std::uint32_t number) {
    if (number < 2) return std::to_string(exchanged_ ? 1 - number : number);
    const TensorDefinition& definition = instance_.intermediates[number - 2];
    std::set<std::string>* const outer = std::exchange(demands_, nullptr);
    std::string result = "{" + dims(definition) + form(*definition.body).text() + "}";
    demands_ = outer;
    return result;
  }

  SumForm form(const ScalarExpr& expr) {
    if (++steps_ > most_steps) throw Overflow("its definition is too large");
    using Kind = ScalarExpr::Kind;
    switch (expr.kind) {
      case Kind::Constant:
        return SumForm::constant(expr.value);
      case Kind::InverseSize:
        return SumForm::factor("1/" + text(*expr.indices[0]));
      case Kind::Add:
        return sum_of(expr.operands, [&](const ScalarExpr& operand) { return form(operand); });
      case Kind::Mul:
        return product_of(expr.operands, [&](const ScalarExpr& operand) { return form(operand); });
      case Kind::Read: {
        std::string name = tensor(expr.tensor) + "[";
        for (const IndexExprPtr& index : expr.indices) name += text(*index) + ",";
        return SumForm::factor(name + "]");
      }
      case Kind::Apply:
        return SumForm::factor(application(expr));
      default:
        return SumForm::factor(scope(expr));
    }
  }

  std::string application(const ScalarExpr& expr) {
    std::vector<std::string> arguments;
    for (const ScalarExprPtr& operand : expr.operands) arguments.push_back(form(*operand).text());
    if (functions_[expr.function].commutative) std::ranges::sort(arguments);
    std::string name = "f:" + functions_[expr.function].name + "(";
    for (const std::string& argument : arguments) name += argument + ",";
    if (demands_ && !is_total(functions_[expr.function])) demands_->insert(around_ + name);
    return name + ")";
  }

  /// Sum, Max and Case.
  std::string scope(const ScalarExpr& expr) {
    std::string name = expr.kind == ScalarExpr::Kind::Sum   ? "sum("
                       : expr.kind == ScalarExpr::Kind::Max ? "max("
                                                            : "case(";
    for (const BoundIndex& bound : expr.bound)
      name += "i" + std::to_string(bound.slot) + "<" + text(*bound.extent) + ",";
    std::vector<std::string> guards;
    for (const Comparison& guard : expr.guard) guards.push_back(text(guard));
    std::ranges::sort(guards);
    for (const std::string& guard : guards) name += guard + "&";
    const std::string outer = around_, here = name;
    for (const ScalarExprPtr& operand : expr.operands) {
      name += ":";
      around_ = outer + here + std::string(operand == expr.operands[0] ? "" : "else");
      name += form(*operand).text();
    }
    around_ = outer;
    return name + ")";
  }

  static constexpr std::uint32_t most_steps = 20'000;

  const Instance& instance_;
  std::span<const Function> functions_;
  bool exchanged_;
  Symbols symbols_;
  std::vector<Poly> sizes_, indices_;
  std::uint32_t steps_ = 0;
  std::string around_;                        // the tensor's dimensions, ranges and branches
  std::set<std::string>* demands_ = nullptr;  // where they are collected
};

/// Which slot stands where each slot stood once the inputs are exchanged; nothing if their dimensions do not
/// correspond.
std::optional<std::vector<std::uint32_t>> exchanged_slots(const Instance& instance) {
  const auto &first = instance.inputs[0], &second = instance.inputs[1];
  if (first.size() != second.size()) return std::nullopt;
  constexpr std::uint32_t open = ~0U;
  std::vector<std::uint32_t> slots(instance.size_names.size(), open);
  const auto map = [&](const IndexExpr& from, const IndexExpr& to) {
    if (from.kind != to.kind) return false;
    if (from.kind == IndexExpr::Kind::Constant) return from.value == to.value;
    if (slots[from.slot] != open) return slots[from.slot] == to.slot;
    slots[from.slot] = to.slot;
    return true;
  };
  for (std::size_t d = 0; d < first.size(); ++d) {
    if (!map(*first[d], *second[d]) || !map(*second[d], *first[d])) return std::nullopt;
  }
  return slots;
}

}  // namespace

std::optional<std::string> asymmetry(const Instance& instance, std::span<const Function> functions) {
  if (instance.inputs.size() != 2 || instance.size_parameter_count() != 0) {
    return "only an operator of two inputs can be commutative";
  }
  const std::optional<std::vector<std::uint32_t>> exchanged = exchanged_slots(instance);
  if (!exchanged) return "its two inputs differ in their dimensions";
  if (instance.input_kinds[0] != instance.input_kinds[1]) return "its two inputs differ in what their elements are";
  std::vector<std::uint32_t> same(exchanged->size());
  for (std::uint32_t slot = 0; slot < same.size(); ++slot) same[slot] = slot;
  Form forward(instance, functions, false, same), backward(instance, functions, true, *exchanged);
  try {
    if (forward.types() != backward.types()) return "exchanging its inputs changes its type rule";
    if (forward.values() != backward.values()) return "exchanging its inputs is not shown to leave its value unchanged";
    if (forward.demands() != backward.demands()) return "exchanging its inputs changes where it is defined";
  } catch (const Overflow& overflow) {
    return overflow.what();
  }
  return std::nullopt;
}

}  // namespace rulemill::algebra
