#include "algebra/claims/kinds.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "algebra/claims/positives.h"
#include "algebra/claims/program.h"
#include "algebra/claims/sum_form.h"
#include "algebra/sizes/checked.h"

namespace rulemill::algebra {
namespace {

using Op = Function::Op;

/// Multiplies tensors out to sums of products of truths and others. How two numbers compare is three truths of which
/// one holds: their difference is negative, zero or positive.
class Reading {
 public:
  Reading(const Instance& instance, std::span<const Function> functions) : instance_(instance), functions_(functions) {}

  bool is(const TensorDefinition& tensor, ElementKind kind) { return fits(form(*tensor.body), kind); }

 private:
  static constexpr std::uint32_t most_steps = 20'000;
  static constexpr std::size_t most_cases = 4'000;

  bool fits(const SumForm& sum, ElementKind kind) {
    return kind == ElementKind::Numbers || (kind == ElementKind::Truths ? is_truth(sum) : is_whole(sum));
  }

  bool is_whole(const SumForm& sum) const {
    return std::ranges::all_of(sum.products(), [&](const auto& product) {
      return product.second.den == 1 && std::ranges::all_of(product.first, [&](const std::string& factor) {
               return truths_.contains(factor) || integers_.contains(factor);
             });
    });
  }

  /// Whether it is 0 or 1 in each case: each truth 0 or 1, one of the three that a comparison has 1.
  bool is_truth(const SumForm& sum) const {
    std::map<std::string, std::set<std::string>> groups;  // of truths of which one holds; a truth alone is its own
    for (const auto& [factors, coefficient] : sum.products()) {
      for (const std::string& factor : factors) {
        const auto truth = truths_.find(factor);
        if (truth == truths_.end()) return false;
        groups[truth->second].insert(factor);
      }
    }
    std::vector<std::set<std::string>> cases = {{}};  // the truths that hold
    for (const auto& [group, members] : groups) {
      std::vector<std::set<std::string>> more = cases;  // none of them
      for (const std::string& member : members) {
        for (std::set<std::string> one : cases) {
          one.insert(member);
          more.push_back(std::move(one));
        }
      }
      cases = std::move(more);
      if (cases.size() > most_cases) return false;
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

  /// A factor that nothing is known of but what it is.
  SumForm opaque(const std::string& name, ElementKind kind, const std::string& group = "") {
    if (kind == ElementKind::Truths) truths_[name] = group.empty() ? name : group;
    if (kind == ElementKind::Integers) integers_.insert(name);
    return SumForm::factor(name);
  }

  SumForm fresh(ElementKind kind) { return opaque("#" + std::to_string(++fresh_), kind); }

  ElementKind kind_of(const SumForm& sum) {
    for (const ElementKind kind : {ElementKind::Truths, ElementKind::Integers}) {
      if (fits(sum, kind)) return kind;
    }
    return ElementKind::Numbers;
  }

  ElementKind kind_of_tensor(std::uint32_t number) {
    const std::size_t inputs = instance_.inputs.size();
    if (number < inputs) return instance_.input_kinds[number];
    if (const auto known = intermediates_.find(number); known != intermediates_.end()) return known->second;
    const ElementKind kind = kind_of(form(*instance_.intermediates[number - inputs].body));
    return intermediates_[number] = kind;
  }

  static std::string text(const IndexExpr& expr) {
    using Kind = IndexExpr::Kind;
    if (expr.kind == Kind::Constant) return std::to_string(expr.value);
    if (expr.kind == Kind::Size || expr.kind == Kind::Index)
      return (expr.kind == Kind::Size ? "s" : "i") + std::to_string(expr.slot);
    return std::to_string(static_cast<int>(expr.kind)) + "(" + text(*expr.a) + "," + text(*expr.b) + ")";
  }

  SumForm form(const ScalarExpr& expr) {
    if (++steps_ > most_steps) throw Overflow("its definition is too large");
    using Kind = ScalarExpr::Kind;
    switch (expr.kind) {
      case Kind::Constant:
        return SumForm::constant(expr.value);
      case Kind::Add:
        return sum_of(expr.operands, [&](const ScalarExpr& operand) { return form(operand); });
      case Kind::Mul:
        return product_of(expr.operands, [&](const ScalarExpr& operand) { return form(operand); });
      case Kind::Read: {  // outside of the tensor 0, which is of any kind
        std::string name = "t" + std::to_string(expr.tensor) + "[";
        for (const IndexExprPtr& index : expr.indices) name += text(*index) + ",";
        return opaque(name + "]", kind_of_tensor(expr.tensor));
      }
      case Kind::Apply:
        return value(expr);
      case Kind::Sum: {
        const ElementKind kind = kind_of(form(*expr.operands[0]));
        return fresh(kind == ElementKind::Truths ? ElementKind::Integers : kind);
      }
      case Kind::Max:  // of no point 0
        return fresh(kind_of(form(*expr.operands[0])));
      case Kind::Case:
        return fresh(std::min(kind_of(form(*expr.operands[0])), kind_of(form(*expr.operands[1])), wider));
      case Kind::InverseSize:
        break;
    }
    return fresh(ElementKind::Numbers);
  }

  /// Truths are integers, integers numbers.
  static bool wider(ElementKind a, ElementKind b) {
    const auto rank = [](ElementKind kind) {
      return kind == ElementKind::Numbers ? 0 : kind == ElementKind::Integers ? 1 : 2;
    };
    return rank(a) < rank(b);
  }

  /// The function's formula, its arguments multiplied out.
  SumForm value(const ScalarExpr& application) {
    std::vector<SumForm> arguments;
    for (const ScalarExprPtr& operand : application.operands) arguments.push_back(form(*operand));
    const auto leaf = [&](const Function::Node& node) -> std::optional<SumForm> {
      if (node.op == Op::Argument) return arguments[node.argument];
      return node.exact ? SumForm::constant(*node.exact) : fresh(ElementKind::Numbers);
    };
    const auto step = [&](Op op, const SumForm& a, const SumForm& b) { return std::optional(apply(op, a, b)); };
    return *run<SumForm>(functions_[application.function], leaf, step);
  }

  SumForm apply(Op op, const SumForm& a, const SumForm& b) {
    if (++steps_ > most_steps) throw Overflow("its definition is too large");
    switch (op) {
      case Op::Add:
        return a + b;
      case Op::Sub:
        return a + b * SumForm::constant({-1, 1});
      case Op::Mul:
        return a * b;
      case Op::Less:
        return compared(a, b, "-");
      case Op::Equal:
        return compared(a, b, "0");
      case Op::Gate:
        return b + b * compared(a, {}, "0") * SumForm::constant({-1, 1});
      case Op::Max:
      case Op::Min:
        return fresh(std::min(kind_of(a), kind_of(b), wider));
      case Op::Abs:
        return fresh(kind_of(b));
      case Op::Floor:
        return fresh(ElementKind::Integers);
      default:
        return fresh(ElementKind::Numbers);
    }
  }

  /// The truth that a − b has the sign: "-" or "0".
  SumForm compared(const SumForm& a, const SumForm& b, std::string sign) {
    const SumForm difference = a + b * SumForm::constant({-1, 1});
    const SumForm opposite = difference * SumForm::constant({-1, 1});
    if (const std::optional<Rational> number = difference.constant())
      return SumForm::constant({(sign == "0" ? number->num == 0 : number->num < 0) ? 1 : 0, 1});
    const bool turned = opposite.text() < difference.text();
    if (turned && sign == "-") sign = "+";
    const std::string group = (turned ? opposite : difference).text();
    return opaque("sign" + sign + group, ElementKind::Truths, "sign" + group);
  }

  const Instance& instance_;
  std::span<const Function> functions_;
  std::map<std::string, std::string> truths_;  // factors that are, each with its group
  std::set<std::string> integers_;
  std::map<std::uint32_t, ElementKind> intermediates_;
  std::uint32_t steps_ = 0, fresh_ = 0;
};

}  // namespace

std::optional<std::string> other_kind(const Instance& instance, std::span<const Function> functions) {
  for (const TensorDefinition& output : instance.outputs) {
    if (output.kind == ElementKind::Numbers) continue;
    if (output.kind == ElementKind::Positives) {
      if (gives_any_positives(instance, functions)) continue;
      return "its output '" + output.name +
             "' is not shown to be positives: the exponential, element by element, of its one input";
    }
    const bool truths = output.kind == ElementKind::Truths;
    std::string against = "its output '" + output.name + "' is not shown to be " +
                          (truths ? "truths, 0 or 1 each" : "integers, whole numbers");
    try {
      if (!Reading(instance, functions).is(output, output.kind)) return against;
    } catch (const Overflow& overflow) {
      return against + ": " + overflow.what();
    }
  }
  return std::nullopt;
}

}  // namespace rulemill::algebra
