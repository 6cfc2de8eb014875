#include "algebra/properties/scalar_kinds.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "algebra/operators/function_interpreter.h"
#include "algebra/properties/positivity.h"
#include "algebra/properties/sum_of_products.h"
#include "algebra/sizes/checked.h"

namespace rulemill::algebra {
namespace {

using Op = Function::Op;

/// Multiplies tensors out to sums of products of factors, some of which are known to be Bool or Int. Comparing two
/// numbers gives three Bool factors, exactly one of which is 1: the difference is negative, zero or positive.
class KindAnalysis {
 public:
  KindAnalysis(const OperatorInstance& instance, std::span<const Function> functions)
      : instance_(instance), functions_(functions) {}

  bool has_kind(const TensorDefinition& tensor, ScalarKind kind) { return has_kind(multiply_out(*tensor.body), kind); }

 private:
  static constexpr std::uint32_t max_steps = 20'000;
  static constexpr std::size_t max_cases = 4'000;

  bool has_kind(const SumOfProducts& sum, ScalarKind kind) {
    return kind == ScalarKind::Real || (kind == ScalarKind::Bool ? is_bool(sum) : is_int(sum));
  }

  bool is_int(const SumOfProducts& sum) const {
    return std::ranges::all_of(sum.products(), [&](const auto& product) {
      return product.second.den == 1 && std::ranges::all_of(product.first, [&](const std::string& factor) {
               return bool_factors_.contains(factor) || int_factors_.contains(factor);
             });
    });
  }

  /// Whether the sum is 0 or 1 for all values of its factors, which must be Bool.
  bool is_bool(const SumOfProducts& sum) const {
    std::map<std::string, std::set<std::string>> groups;  // at most one factor per group is 1
    for (const auto& [factors, coefficient] : sum.products()) {
      for (const std::string& factor : factors) {
        const auto truth = bool_factors_.find(factor);
        if (truth == bool_factors_.end()) return false;
        groups[truth->second].insert(factor);
      }
    }
    std::vector<std::set<std::string>> cases = {{}};  // the factors that are 1
    for (const auto& [group, members] : groups) {
      std::vector<std::set<std::string>> extended = cases;  // no member holds
      for (const std::string& member : members) {
        for (std::set<std::string> one : cases) {
          one.insert(member);
          extended.push_back(std::move(one));
        }
      }
      cases = std::move(extended);
      if (cases.size() > max_cases) return false;
    }
    return std::ranges::all_of(cases, [&](const std::set<std::string>& holding) {
      Rational value{0, 1};
      for (const auto& [factors, coefficient] : sum.products()) {
        if (std::ranges::all_of(factors, [&](const std::string& factor) { return holding.contains(factor); }))
          value = value + coefficient;
      }
      return value == Rational{0, 1} || value == Rational{1, 1};
    });
  }

  /// A factor of which only the kind is known, and the group that it belongs to.
  SumOfProducts opaque(const std::string& name, ScalarKind kind, const std::string& group = "") {
    if (kind == ScalarKind::Bool) bool_factors_[name] = group.empty() ? name : group;
    if (kind == ScalarKind::Int) int_factors_.insert(name);
    return SumOfProducts::factor(name);
  }

  SumOfProducts new_opaque(ScalarKind kind) { return opaque("#" + std::to_string(++opaque_count_), kind); }

  ScalarKind kind_of(const SumOfProducts& sum) {
    for (const ScalarKind kind : {ScalarKind::Bool, ScalarKind::Int}) {
      if (has_kind(sum, kind)) return kind;
    }
    return ScalarKind::Real;
  }

  ScalarKind kind_of_tensor(std::uint32_t number) {
    const std::size_t inputs = instance_.inputs.size();
    if (number < inputs) return instance_.input_scalar_kinds[number];
    if (const auto known = intermediates_.find(number); known != intermediates_.end()) return known->second;
    const ScalarKind kind = kind_of(multiply_out(*instance_.intermediates[number - inputs].body));
    return intermediates_[number] = kind;
  }

  static std::string text(const IndexExpr& expr) {
    using Kind = IndexExpr::Kind;
    if (expr.kind == Kind::Constant) return std::to_string(expr.value);
    if (expr.kind == Kind::Size || expr.kind == Kind::Index)
      return (expr.kind == Kind::Size ? "s" : "i") + std::to_string(expr.slot);
    return std::to_string(static_cast<int>(expr.kind)) + "(" + text(*expr.a) + "," + text(*expr.b) + ")";
  }

  SumOfProducts multiply_out(const ScalarExpr& expr) {
    if (++steps_ > max_steps) throw Overflow("its definition is too large");
    using Kind = ScalarExpr::Kind;
    switch (expr.kind) {
      case Kind::Constant:
        return SumOfProducts::constant(expr.value);
      case Kind::Add:
        return sum_of(expr.operands, [&](const ScalarExpr& operand) { return multiply_out(operand); });
      case Kind::Mul:
        return product_of(expr.operands, [&](const ScalarExpr& operand) { return multiply_out(operand); });
      case Kind::Read: {  // 0 outside the tensor, which has every kind
        std::string name = "t" + std::to_string(expr.tensor) + "[";
        for (const IndexExprPtr& index : expr.indices) name += text(*index) + ",";
        return opaque(name + "]", kind_of_tensor(expr.tensor));
      }
      case Kind::Apply:
        return expand_application(expr);
      case Kind::Sum: {
        const ScalarKind kind = kind_of(multiply_out(*expr.operands[0]));
        return new_opaque(kind == ScalarKind::Bool ? ScalarKind::Int : kind);
      }
      case Kind::Max:  // 0 without any point
        return new_opaque(kind_of(multiply_out(*expr.operands[0])));
      case Kind::Case:
        return new_opaque(
            std::min(kind_of(multiply_out(*expr.operands[0])), kind_of(multiply_out(*expr.operands[1])), is_wider));
      case Kind::InverseSize:
        break;
    }
    return new_opaque(ScalarKind::Real);
  }

  /// Bool is contained in Int, and Int in Real.
  static bool is_wider(ScalarKind a, ScalarKind b) {
    const auto rank = [](ScalarKind kind) { return kind == ScalarKind::Real ? 0 : kind == ScalarKind::Int ? 1 : 2; };
    return rank(a) < rank(b);
  }

  /// Expands the function's formula with its arguments multiplied out.
  SumOfProducts expand_application(const ScalarExpr& application) {
    std::vector<SumOfProducts> arguments;
    for (const ScalarExprPtr& operand : application.operands) arguments.push_back(multiply_out(*operand));
    const auto leaf = [&](const Function::Instruction& instruction) -> std::optional<SumOfProducts> {
      if (instruction.op == Op::Argument) return arguments[instruction.argument];
      return instruction.exact ? SumOfProducts::constant(*instruction.exact) : new_opaque(ScalarKind::Real);
    };
    const auto apply_op = [&](Op op, const SumOfProducts& a, const SumOfProducts& b) {
      return std::optional(apply(op, a, b));
    };
    return *interpret<SumOfProducts>(functions_[application.function], leaf, apply_op);
  }

  SumOfProducts apply(Op op, const SumOfProducts& a, const SumOfProducts& b) {
    if (++steps_ > max_steps) throw Overflow("its definition is too large");
    switch (op) {
      case Op::Add:
        return a + b;
      case Op::Sub:
        return a + b * SumOfProducts::constant({-1, 1});
      case Op::Mul:
        return a * b;
      case Op::Less:
        return compare(a, b, "-");
      case Op::Equal:
        return compare(a, b, "0");
      case Op::Gate:
        return b + b * compare(a, {}, "0") * SumOfProducts::constant({-1, 1});
      case Op::Max:
      case Op::Min:
        return new_opaque(std::min(kind_of(a), kind_of(b), is_wider));
      case Op::Abs:
        return new_opaque(kind_of(b));
      case Op::Floor:
        return new_opaque(ScalarKind::Int);
      default:
        return new_opaque(ScalarKind::Real);
    }
  }

  /// The Bool factor for a − b < 0 (sign "-") or a − b = 0 (sign "0").
  SumOfProducts compare(const SumOfProducts& a, const SumOfProducts& b, std::string sign) {
    const SumOfProducts difference = a + b * SumOfProducts::constant({-1, 1});
    const SumOfProducts opposite = difference * SumOfProducts::constant({-1, 1});
    if (const std::optional<Rational> number = difference.constant())
      return SumOfProducts::constant({(sign == "0" ? number->num == 0 : number->num < 0) ? 1 : 0, 1});
    const bool negated = opposite.text() < difference.text();
    if (negated && sign == "-") sign = "+";
    const std::string group = (negated ? opposite : difference).text();
    return opaque("sign" + sign + group, ScalarKind::Bool, "sign" + group);
  }

  const OperatorInstance& instance_;
  std::span<const Function> functions_;
  std::map<std::string, std::string> bool_factors_;  // each with its group
  std::set<std::string> int_factors_;
  std::map<std::uint32_t, ScalarKind> intermediates_;
  std::uint32_t steps_ = 0, opaque_count_ = 0;
};

}  // namespace

std::optional<std::string> find_kind_mismatch(const OperatorInstance& instance, std::span<const Function> functions) {
  for (const TensorDefinition& output : instance.outputs) {
    if (output.scalar_kind == ScalarKind::Real) continue;
    if (output.scalar_kind == ScalarKind::Positive) {
      if (is_elementwise_exp(instance, functions)) continue;
      return "its output '" + output.name +
             "' is not shown to be positive: the exponential, element by element, of its one input";
    }
    const bool is_bool = output.scalar_kind == ScalarKind::Bool;
    std::string message =
        "its output '" + output.name + "' is not shown to be " + (is_bool ? "bool, 0 or 1" : "int, a whole number");
    try {
      if (!KindAnalysis(instance, functions).has_kind(output, output.scalar_kind)) return message;
    } catch (const Overflow& overflow) {
      return message + ": " + overflow.what();
    }
  }
  return std::nullopt;
}

}  // namespace rulemill::algebra
