#include "algebra/properties/symmetry.h"

#include <algorithm>
#include <set>
#include <utility>

#include "algebra/operators/function_domain.h"
#include "algebra/properties/sum_of_products.h"
#include "algebra/sizes/checked.h"

namespace rulemill::algebra {
namespace {

/// The type rule and outputs of an instance as canonical text, either as defined or with the two inputs exchanged.
class CanonicalForm {
 public:
  CanonicalForm(const OperatorInstance& instance, std::span<const Function> functions, bool exchanged,
                std::span<const std::uint32_t> slots)
      : instance_(instance), functions_(functions), exchanged_(exchanged) {
    std::vector<Poly> sizes;
    for (std::size_t slot = 0; slot < slots.size(); ++slot)
      sizes.emplace_back(symbols_.size("s" + std::to_string(slot)));
    for (const std::uint32_t slot : slots) sizes_.push_back(sizes[slot]);
    for (std::uint32_t i = 0; i <= instance.index_slots + max_rank; ++i)
      indices_.emplace_back(symbols_.index("i" + std::to_string(i)));
  }

  std::string type_rule() {
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
    for (const TensorDefinition& output : instance_.outputs) result += multiply_out(*output.body).text() + ";";
    return result;
  }

  /// The applications of partial functions with their scopes, over all tensors. An application that cancels in a value
  /// is included, too.
  std::set<std::string> definedness_conditions() {
    std::set<std::string> result;
    const auto collect = [&](const TensorDefinition& tensor) {
      scope_ = dims(tensor);
      definedness_conditions_ = &result;
      multiply_out(*tensor.body);
      definedness_conditions_ = nullptr;
    };
    std::ranges::for_each(instance_.intermediates, collect);
    std::ranges::for_each(instance_.outputs, collect);
    return result;
  }

 private:
  static constexpr std::uint32_t max_rank = 16;

  std::string text(const IndexExpr& expr) { return symbols_.to_string(evaluate(expr, sizes_, indices_, symbols_)); }

  std::string text(const Comparison& comparison) {
    const char* relations[] = {"=", "!=", "<", "<="};
    const Poly difference =
        evaluate(*comparison.a, sizes_, indices_, symbols_) - evaluate(*comparison.b, sizes_, indices_, symbols_);
    const bool is_symmetric = comparison.relation == Relation::Eq || comparison.relation == Relation::Ne;
    const Poly normalized = is_symmetric ? std::max(difference, -difference) : difference;
    return symbols_.to_string(normalized) + relations[static_cast<std::size_t>(comparison.relation)] + "0";
  }

  std::string dims(const TensorDefinition& tensor) {
    std::string result = "[";
    for (const IndexExprPtr& dim : tensor.dims) result += text(*dim) + ",";
    return result + "]";
  }

  /// The number of an input; the definition of an intermediate.
  std::string tensor_text(std::uint32_t number) {
    if (number < 2) return std::to_string(exchanged_ ? 1 - number : number);
    const TensorDefinition& definition = instance_.intermediates[number - 2];
    std::set<std::string>* const outer = std::exchange(definedness_conditions_, nullptr);
    std::string result = "{" + dims(definition) + multiply_out(*definition.body).text() + "}";
    definedness_conditions_ = outer;
    return result;
  }

  SumOfProducts multiply_out(const ScalarExpr& expr) {
    if (++steps_ > max_steps) throw Overflow("its definition is too large");
    using Kind = ScalarExpr::Kind;
    switch (expr.kind) {
      case Kind::Constant:
        return SumOfProducts::constant(expr.value);
      case Kind::InverseSize:
        return SumOfProducts::factor("1/" + text(*expr.indices[0]));
      case Kind::Add:
        return sum_of(expr.operands, [&](const ScalarExpr& operand) { return multiply_out(operand); });
      case Kind::Mul:
        return product_of(expr.operands, [&](const ScalarExpr& operand) { return multiply_out(operand); });
      case Kind::Read: {
        std::string name = tensor_text(expr.tensor) + "[";
        for (const IndexExprPtr& index : expr.indices) name += text(*index) + ",";
        return SumOfProducts::factor(name + "]");
      }
      case Kind::Apply:
        return SumOfProducts::factor(application(expr));
      default:
        return SumOfProducts::factor(scope_text(expr));
    }
  }

  std::string application(const ScalarExpr& expr) {
    std::vector<std::string> arguments;
    for (const ScalarExprPtr& operand : expr.operands) arguments.push_back(multiply_out(*operand).text());
    if (functions_[expr.function].commutative) std::ranges::sort(arguments);
    std::string name = "f:" + functions_[expr.function].name + "(";
    for (const std::string& argument : arguments) name += argument + ",";
    if (definedness_conditions_ && !is_total(functions_[expr.function])) definedness_conditions_->insert(scope_ + name);
    return name + ")";
  }

  /// The text of a Sum, Max or Case.
  std::string scope_text(const ScalarExpr& expr) {
    std::string name = expr.kind == ScalarExpr::Kind::Sum   ? "sum("
                       : expr.kind == ScalarExpr::Kind::Max ? "max("
                                                            : "case(";
    for (const BoundIndex& bound : expr.bound)
      name += "i" + std::to_string(bound.slot) + "<" + text(*bound.extent) + ",";
    std::vector<std::string> guards;
    for (const Comparison& guard : expr.guard) guards.push_back(text(guard));
    std::ranges::sort(guards);
    for (const std::string& guard : guards) name += guard + "&";
    const std::string outer = scope_, inner = name;
    for (const ScalarExprPtr& operand : expr.operands) {
      name += ":";
      scope_ = outer + inner + std::string(operand == expr.operands[0] ? "" : "else");
      name += multiply_out(*operand).text();
    }
    scope_ = outer;
    return name + ")";
  }

  static constexpr std::uint32_t max_steps = 20'000;

  const OperatorInstance& instance_;
  std::span<const Function> functions_;
  bool exchanged_;
  Symbols symbols_;
  std::vector<Poly> sizes_, indices_;
  std::uint32_t steps_ = 0;
  std::string scope_;                                        // dimensions of the tensor, enclosing bounds and branches
  std::set<std::string>* definedness_conditions_ = nullptr;  // null: not collected
};

/// For each size slot the one that replaces it when the inputs are exchanged; nullopt if the dimensions do not
/// correspond.
std::optional<std::vector<std::uint32_t>> exchange_slots(const OperatorInstance& instance) {
  const auto &first = instance.inputs[0], &second = instance.inputs[1];
  if (first.size() != second.size()) return std::nullopt;
  constexpr std::uint32_t unmapped = ~0U;
  std::vector<std::uint32_t> slots(instance.size_names.size(), unmapped);
  const auto map = [&](const IndexExpr& from, const IndexExpr& to) {
    if (from.kind != to.kind) return false;
    if (from.kind == IndexExpr::Kind::Constant) return from.value == to.value;
    if (slots[from.slot] != unmapped) return slots[from.slot] == to.slot;
    slots[from.slot] = to.slot;
    return true;
  };
  for (std::size_t d = 0; d < first.size(); ++d) {
    if (!map(*first[d], *second[d]) || !map(*second[d], *first[d])) return std::nullopt;
  }
  return slots;
}

}  // namespace

std::optional<std::string> find_asymmetry(const OperatorInstance& instance, std::span<const Function> functions) {
  if (instance.inputs.size() != 2 || instance.size_parameter_count() != 0)
    return "only an operator of two inputs can be commutative";
  const std::optional<std::vector<std::uint32_t>> exchanged = exchange_slots(instance);
  if (!exchanged) return "its two inputs differ in their dimensions";
  if (instance.input_scalar_kinds[0] != instance.input_scalar_kinds[1])
    return "its two inputs differ in their scalar kind";
  std::vector<std::uint32_t> same(exchanged->size());
  for (std::uint32_t slot = 0; slot < same.size(); ++slot) same[slot] = slot;
  CanonicalForm forward(instance, functions, false, same), backward(instance, functions, true, *exchanged);
  try {
    if (forward.type_rule() != backward.type_rule()) return "exchanging its inputs changes its type rule";
    if (forward.values() != backward.values()) return "exchanging its inputs is not shown to leave its value unchanged";
    if (forward.definedness_conditions() != backward.definedness_conditions())
      return "exchanging its inputs changes where it is defined";
  } catch (const Overflow& overflow) {
    return overflow.what();
  }
  return std::nullopt;
}

}  // namespace rulemill::algebra
