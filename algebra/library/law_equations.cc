#include "algebra/library/law_equations.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "algebra/operators/enclosure.h"
#include "algebra/operators/function_evaluation.h"
#include "algebra/operators/function_interpreter.h"
#include "algebra/properties/exact_value.h"
#include "algebra/properties/function_properties.h"
#include "algebra/properties/law_counterexample.h"

namespace rulemill::algebra {
namespace {

using Condition = LawEquation::Condition;
using Expression = std::optional<ScalarExprPtr>;  // nothing with an operation that is no function of the library
using Op = Function::Op;

ScalarExprPtr make(ScalarExpr::Kind kind, std::vector<ScalarExprPtr> operands) {
  ScalarExpr node;
  node.kind = kind;
  node.operands = std::move(operands);
  return std::make_shared<const ScalarExpr>(std::move(node));
}
ScalarExprPtr number(Rational value) {
  ScalarExpr node;
  node.value = value;
  return std::make_shared<const ScalarExpr>(std::move(node));
}
ScalarExprPtr variable(std::uint32_t place) {
  ScalarExpr node;
  node.kind = ScalarExpr::Kind::Read;
  node.tensor = place;
  return std::make_shared<const ScalarExpr>(std::move(node));
}
ScalarExprPtr sum(ScalarExprPtr a, ScalarExprPtr b) {
  return make(ScalarExpr::Kind::Add, {std::move(a), std::move(b)});
}
ScalarExprPtr product(ScalarExprPtr a, ScalarExprPtr b) {
  return make(ScalarExpr::Kind::Mul, {std::move(a), std::move(b)});
}
ScalarExprPtr minus(ScalarExprPtr a) { return product(number({-1, 1}), std::move(a)); }

class LawEquations {
 public:
  explicit LawEquations(std::span<const Function> functions) : functions_(functions) {}

  void add_flags(std::uint32_t f) {
    const Function& function = functions_[f];
    const ScalarExprPtr s = variable(0), t = variable(1), c = variable(LawEquation::positive),
                        d = variable(LawEquation::positive + 1);
    const auto of = [&](std::vector<ScalarExprPtr> arguments) { return apply(f, std::move(arguments)); };
    const bool is_unary = function.arity == 1;
    if (function.maps_zero_to_zero) add(f, "zero", 0, of({number({0, 1})}), number({0, 1}));
    if (function.idempotent) add(f, "idempotent", 1, of({of({s})}), of({s}));
    if (function.commutative) add(f, "commutative", 2, of({s, t}), of({t, s}));
    if (function.exponential) add(f, "sum", 2, of({sum(s, t)}), product(of({s}), of({t})));
    if (function.parity != 0) add(f, "parity", 1, of({minus(s)}), product(number({function.parity, 1}), of({s})));
    const std::vector<Condition> positive = {{Condition::Kind::Positive, c}};
    if (function.degree == 1 && is_unary) add(f, "scale", 4, of({product(c, s)}), product(c, of({s})), positive);
    if (function.degree == 1 && !is_unary)
      add(f, "scale", 4, of({product(c, s), product(c, t)}), product(c, of({s, t})), positive);
    if (function.degree == -1) {
      std::vector<Condition> inverse = positive;
      inverse.push_back({Condition::Kind::Zero, sum(product(c, d), number({-1, 1}))});
      add(f, "scale", 5, of({product(c, s)}), product(d, of({s})), inverse);
    }
    const int direction = is_unary ? function.monotonicity.at(0) : 0;
    if (direction == 0) return;
    for (const Op op : {Op::Max, Op::Min}) {
      const Op inside = direction > 0 ? op : op == Op::Max ? Op::Min : Op::Max;
      const auto extremum = operation(inside, s, t), outside = operation(op, of({s}), of({t}));
      if (extremum && outside) add(f, op == Op::Max ? "max" : "min", 2, *outside, of({*extremum}));
    }
    if (direction < 0) return;
    for (std::uint32_t e = 0; e < functions_.size(); ++e) {  // of max(t, c) and min(t, c) where f(c) = c
      const auto& program = functions_[e].program;
      const auto bound = std::ranges::find(program, Op::Number, &Function::Instruction::op);
      const bool is_extremum = functions_[e].arity == 1 && program.size() == 3 && bound != program.end() &&
                               std::ranges::count(program, Op::Argument, &Function::Instruction::op) == 1 &&
                               (program[2].op == Op::Max || program[2].op == Op::Min);
      if (!is_extremum || !bound->exact) continue;
      if (evaluate_exactly(function, std::vector{*bound->exact}) == bound->exact)
        add(f, "max_" + functions_[e].name, 1, apply(e, {of({s})}), of({apply(e, {s})}));
    }
  }

  void add_formula(std::uint32_t f) {
    const Function& function = functions_[f];
    const auto& program = function.program;
    const bool is_reciprocal = program.size() == 3 && program[0].op == Op::Number && program[2].op == Op::Div;
    if (program.size() <= function.arity + 1U || is_reciprocal) return;  // one operation, or none
    std::vector<ScalarExprPtr> arguments;
    for (std::uint32_t i = 0; i < function.arity; ++i) arguments.push_back(variable(i));
    const ScalarExprPtr whole = apply(f, std::move(arguments));
    const Expression formula = expression(function);
    if (formula) add(f, "formula", function.arity, whole, *formula, {{Condition::Kind::Defined, whole}});
  }

  void add(const syntax::DeclaredEquation& declared, std::uint32_t f) {
    const Expression left = expression(declared.left), right = expression(declared.right);
    std::vector<Condition> conditions;
    for (const auto* formulas : {&declared.positive, &declared.defined}) {
      const bool is_domain = formulas == &declared.defined;
      for (const Function& each : *formulas) {
        const Expression condition = expression(each);
        if (is_domain && left && right && !(condition && (*condition)->kind == ScalarExpr::Kind::Apply))
          throw runtime::InputError(declared.place,
                                    "a condition 'a defined' is about one function, such as log(t) or 1 / t");
        if (!condition) return;
        conditions.push_back({is_domain ? Condition::Kind::Defined : Condition::Kind::Positive, *condition});
      }
    }
    if (!left || !right) return;
    add(f, declared.name, declared.left.arity, *left, *right, std::move(conditions));
    result_.back().assumption = declared.text;
  }

  std::vector<LawEquation> take() { return std::move(result_); }

 private:
  void add(std::uint32_t f, const std::string& law, std::uint32_t variables, ScalarExprPtr left, ScalarExprPtr right,
           std::vector<Condition> conditions = {}) {
    result_.push_back(
        {functions_[f].name + "." + law, variables, std::move(left), std::move(right), std::move(conditions), {}});
  }

  static ScalarExprPtr apply(std::uint32_t f, std::vector<ScalarExprPtr> arguments) {
    ScalarExpr node;
    node.kind = ScalarExpr::Kind::Apply;
    node.function = f;
    node.operands = std::move(arguments);
    return std::make_shared<const ScalarExpr>(std::move(node));
  }
  /// op(a, b), or op(b) of an operation of one argument; 1/b for a quotient.
  Expression operation(Op op, const ScalarExprPtr& a, const ScalarExprPtr& b) const {
    const auto found = std::ranges::find_if(functions_, [&](const Function& function) {
      const auto& program = function.program;
      if (is_unary(op)) return applies_only(function, op);
      if (program.size() != 3 || program[2].op != op || program[1].op != Op::Argument) return false;
      if (op == Op::Div) return function.arity == 1 && program[0].exact == Rational{1, 1};
      return function.arity == 2 && program[0].op == Op::Argument && program[0].argument == 0 &&
             program[1].argument == 1;
    });
    if (found == functions_.end()) return std::nullopt;
    const auto f = static_cast<std::uint32_t>(found - functions_.begin());
    return apply(f, is_unary(op) || op == Op::Div ? std::vector{b} : std::vector{a, b});
  }

  /// The formula as an expression in its arguments.
  Expression expression(const Function& function) const {
    const auto leaf = [](const Function::Instruction& node) -> Expression {
      if (node.op == Op::Argument) return variable(node.argument);
      return node.exact ? Expression(number(*node.exact)) : std::nullopt;
    };
    const auto step = [&](Op op, const ScalarExprPtr& a, const ScalarExprPtr& b) -> Expression {
      if (op == Op::Add) return sum(a, b);
      if (op == Op::Sub) return sum(a, minus(b));
      if (op == Op::Mul) return product(a, b);
      const Expression value = operation(op, a, b);
      const bool is_one = a->kind == ScalarExpr::Kind::Constant && a->value == Rational{1, 1};
      return value && op == Op::Div && !is_one ? Expression(product(a, *value)) : value;
    };
    return interpret<ScalarExprPtr>(function, leaf, step);
  }

  std::span<const Function> functions_;
  std::vector<LawEquation> result_;
};

}  // namespace

void complete_functions(std::span<Function> functions) {
  const auto is_exact = [](const Function::Instruction& each) { return each.op != Op::Number || each.exact; };
  for (std::size_t f = 0; f < functions.size(); ++f) {
    Function& function = functions[f];
    const auto is_same = [&](const Function& other) {
      return other.arity == function.arity && other.program == function.program;
    };
    const bool is_known = std::ranges::all_of(function.program, is_exact);
    const auto first = is_known ? std::ranges::find_if(functions, is_same) - functions.begin() : f;
    function.representative = static_cast<std::uint32_t>(first);
    function.monotonicity.clear();
    for (std::uint32_t a = 0; a < function.arity; ++a)
      function.monotonicity.push_back(function.monotone ? 1 : monotonicity(function, a));
  }
}

std::vector<LawEquation> make_law_equations(std::span<const Function> functions,
                                            std::span<const syntax::DeclaredEquation> declared) {
  LawEquations equations(functions);
  for (std::uint32_t f = 0; f < functions.size(); ++f) {
    equations.add_flags(f);
    equations.add_formula(f);
    for (const syntax::DeclaredEquation& each : declared) {
      if (each.function == functions[f].name) equations.add(each, f);
    }
  }
  return equations.take();
}

std::optional<std::string> find_counterexample(const syntax::DeclaredEquation& equation) {
  constexpr int points = 5000;
  std::mt19937_64 random(1);
  std::vector<double> numbers = sample_numbers(equation.left, 200);
  for (const double number : sample_numbers(equation.right, 0)) numbers.push_back(number);
  std::vector<double> point;
  const auto rounded = [&](const Function& side) {
    const auto leaf = [&](const Function::Instruction& node) {
      return std::optional(node.op == Op::Argument ? point[node.argument] : node.number);
    };
    const auto step = [](Op op, double a, double b) {
      const double result = apply<double>(op, a, b);
      return std::optional(std::isfinite(result) ? result : 0.0);  // as each function in a proof
    };
    return *interpret<double>(side, leaf, step);
  };
  for (int i = 0; i < points; ++i) {
    point.clear();
    for (std::uint32_t v = 0; v < equation.left.arity; ++v)
      point.push_back(random() % 2 == 0 ? (static_cast<double>(random() % 6'001) - 3'000) / 1'000
                                        : numbers[random() % numbers.size()]);
    const double number = rounded(equation.left);
    if (std::abs(number - rounded(equation.right)) <= 1e-15 * std::abs(number)) continue;
    const auto leaf = [&](const Function::Instruction& node) -> std::optional<Enclosure> {
      return node.op == Op::Argument ? Enclosure(point[node.argument]) : enclosure_of(node);
    };
    bool is_defined = true;  // the last operation
    const auto step = [&](Op op, Enclosure a, Enclosure b) -> std::optional<Enclosure> {
      bool doubtful = false;
      const Enclosure result = apply(op, a, b, doubtful);
      is_defined = !doubtful && !result.is_undefined();
      return result.is_undefined() ? 0.0 : result;
    };
    const auto value = [&](const Function& side) { return *interpret<Enclosure>(side, leaf, step); };
    if (!std::ranges::all_of(equation.positive, [&](const Function& each) { return value(each).low > 0; })) continue;
    if (!std::ranges::all_of(equation.defined, [&](const Function& each) { return value(each), is_defined; })) continue;
    const Enclosure left = value(equation.left), right = value(equation.right);
    if (!certainly_differ(left, right)) continue;
    return fmt::format("{} and {} at {}", left.middle(), right.middle(), fmt::join(point, ", "));
  }
  return std::nullopt;
}

}  // namespace rulemill::algebra
