#include "prove/normal_form/definedness.h"

#include <algorithm>

#include "algebra/operators/function_domain.h"
#include "prove/normal_form/lower.h"
#include "prove/normal_form/simplify.h"
#include "runtime/text/error.h"

namespace rulemill::prove {

using algebra::Signs;

namespace {

constexpr int max_regions = 6;                   // conditions that together imply one
constexpr std::size_t max_values_per_index = 6;  // tried where equations leave it open

bool uses_any(const algebra::ScalarExpr& expr, const std::vector<bool>& functions) {
  if (expr.kind == algebra::ScalarExpr::Kind::Apply && functions[expr.function]) return true;
  return std::ranges::any_of(expr.operands, [&](const auto& operand) { return uses_any(*operand, functions); });
}

bool uses_any(const algebra::OperatorInstance& instance, const std::vector<bool>& functions) {
  const auto any = [&](const std::vector<algebra::TensorDefinition>& tensors) {
    return std::ranges::any_of(tensors, [&](const auto& tensor) { return uses_any(*tensor.body, functions); });
  };
  return any(instance.outputs) || any(instance.intermediates);
}

}  // namespace

std::vector<bool> find_partial_functions(std::span<const algebra::Function> functions) {
  std::vector<bool> partial;
  for (const algebra::Function& function : functions) partial.push_back(!algebra::is_total(function));
  return partial;
}

bool uses_any(const algebra::TypedRule& rule, const algebra::TermBank& bank, const std::vector<bool>& functions) {
  return std::ranges::any_of(rule.types, [&](const auto& typed) {
    if (bank.term(typed.first).is_variable) return false;
    return uses_any(bank.library().instance(bank.node_of(typed.first).instance), functions);
  });
}

std::vector<DefinednessCondition> collect_definedness_conditions(const std::vector<algebra::TermId>& side,
                                                                 const algebra::TypedRule& rule,
                                                                 const algebra::TermBank& bank, Solver& solver,
                                                                 IndexSupply& supply) {
  const std::vector<bool> functions = find_partial_functions(bank.library().functions());
  std::vector<DefinednessCondition> conditions;
  for (const algebra::NodeId node : bank.nodes(side)) {
    const algebra::OperatorInstance& instance = bank.library().instance(bank.node(node).instance);
    if (!uses_any(instance, functions)) continue;
    for (std::uint32_t output = 0; output < instance.outputs.size(); ++output) {
      const auto typed = std::ranges::find_if(rule.types, [&](const auto& entry) {
        const algebra::Term& term = bank.term(entry.first);
        return !term.is_variable && term.node == node && term.output == output;
      });
      RM_CHECK(typed != rule.types.end(), "a node without a type");
      const auto& [term, shape] = *typed;
      std::vector<Atom> bound;
      std::vector<Poly> index;
      Guards ranges;
      for (const Poly& dim : shape) {
        bound.push_back(supply.next());
        index.emplace_back(bound.back());
        append_range(ranges, index.back(), dim);
      }
      const Solver::Assumption inside(solver, ranges);
      Lowering lowering(rule, bank, solver, supply);
      for (DefinednessCondition& condition : lowering.applications(term, index, functions)) {
        condition.bound.insert(condition.bound.end(), bound.begin(), bound.end());
        conditions.push_back(std::move(condition));
      }
    }
  }
  return conditions;
}

Definedness::Definedness(const algebra::TermBank& bank, Solver& solver, IndexSupply& supply, Equality& equality,
                         AlignmentLimits limits, IsZero by_laws)
    : bank_(bank),
      solver_(solver),
      symbols_(solver.symbols()),
      supply_(supply),
      equality_(equality),
      limits_(limits),
      is_zero_by_laws_(std::move(by_laws)) {
  for (const algebra::Function& function : bank.library().functions()) commutative_.push_back(function.commutative);
}

bool Definedness::all_follow(const std::vector<DefinednessCondition>& wanted,
                             const std::vector<DefinednessCondition>& given) {
  for (const DefinednessCondition& condition : wanted) {
    if (follows(condition, given, max_regions)) continue;
    unproved_condition_ = to_string(condition, bank_, symbols_);
    return false;
  }
  return true;
}

bool Definedness::follows(DefinednessCondition wanted, const std::vector<DefinednessCondition>& given, int depth) {
  solver_.budget().spend(100 * (1 + given.size()));
  if (!simplify_with_solver(wanted, solver_, bank_)) return true;
  const Solver::Assumption here(solver_, wanted.guards);
  if (is_defined_by_signs(wanted.factors[0])) return true;
  return std::any_of(given.begin(), given.end(), [&](const DefinednessCondition& condition) {
    return follows_from(wanted, condition, given, depth);
  });
}

/// True if `given` implies `wanted` where the guards of both hold, and all conditions imply it elsewhere. The solver
/// assumes the guards of `wanted`.
bool Definedness::follows_from(const DefinednessCondition& wanted, const DefinednessCondition& given,
                               const std::vector<DefinednessCondition>& all, int depth) {
  if (head(wanted.factors[0]) != head(given.factors[0])) return false;
  DefinednessCondition other = given;
  rename_bound(other, supply_, symbols_);
  for (const Substitution& at : witnesses(wanted, other)) {
    DefinednessCondition instance = other;
    instance.bound.clear();
    substitute(instance, at, symbols_);
    Guards open;
    for (const Guard& guard : instance.guards) {
      if (!solver_.is_implied({}, guard, "a definedness condition applies here")) open.push_back(guard);
    }
    if (!open.empty() && (depth == 0 || solver_.is_infeasible(open, "two definedness conditions are disjoint")))
      continue;
    {
      const Solver::Assumption both(solver_, open);
      if (!are_equal(instance.factors[0], wanted.factors[0])) continue;
    }
    DefinednessCondition rest = wanted;
    const bool elsewhere = std::all_of(open.begin(), open.end(), [&](const Guard& guard) {
      const std::vector<Guard> outside = complement(guard);
      const bool holds = std::all_of(outside.begin(), outside.end(), [&](const Guard& region) {
        DefinednessCondition at_region = rest;
        at_region.guards.push_back(region);
        return follows(std::move(at_region), all, depth - 1);
      });
      rest.guards.push_back(guard);
      return holds;
    });
    if (elsewhere) return true;
  }
  return false;
}

/// Returns values for the indices that `given` binds, at which the two applications may be equal.
std::vector<Substitution> Definedness::witnesses(const DefinednessCondition& wanted,
                                                 const DefinednessCondition& given) {
  const std::vector<FactorPair> pair = {{&given.factors[0], &wanted.factors[0]}};
  std::vector<Substitution> found;
  for (const Equations& system : unifying_equations(pair, commutative_, limits_.choices, solver_.budget())) {
    std::vector<Atom> unknowns = given.bound;
    unknowns.insert(unknowns.end(), system.unknowns.begin(), system.unknowns.end());
    const SolvedIndices solved = solve_indices(system.polys, unknowns, symbols_, solver_.budget());
    std::vector<Substitution> maps(1);
    for (const Atom index : given.bound) {
      std::vector<Poly> values;
      const auto add = [&](const Poly& value) {
        const bool fits = !mentions(value, unknowns, symbols_) && values.size() < max_values_per_index;
        if (fits && std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
      };
      if (const auto known = solved.map.find(index); known != solved.map.end()) {
        add(known->second);
      } else {
        add(Poly(0));
        // The ends of a range, for the element in question and for the first element.
        Substitution first;
        for (const Guard& guard : given.guards) {
          for (const Atom atom : symbols_.atoms(guard.poly)) {
            if (symbols_.kind(atom) == Symbols::Kind::Index && atom != index) first[atom] = Poly(0);
          }
        }
        for (const Guard& guard : given.guards) {
          for (const Poly& bound : {guard.poly, symbols_.substitute(guard.poly, first)}) {
            const std::int64_t factor = bound.coefficient(index);
            const Poly rest = bound - Poly(factor) * Poly(index);
            if ((factor != 1 && factor != -1) || symbols_.contains(rest, index)) continue;
            add(factor == 1 ? -rest : rest);
          }
        }
      }
      std::vector<Substitution> longer;
      for (const Substitution& map : maps) {
        for (const Poly& value : values) {
          if (longer.size() >= limits_.choices) break;
          longer.push_back(map);
          longer.back()[index] = value;
        }
      }
      maps = std::move(longer);
    }
    found.insert(found.end(), maps.begin(), maps.end());
    if (found.size() >= limits_.choices) break;
  }
  return found;
}

bool Definedness::are_equal(const Factor& a, const Factor& b) {
  if (equality_.are_equal(a, b)) return true;
  if (!is_zero_by_laws_ || a.kind != Factor::Kind::Apply) return false;
  const auto agree = [&](bool is_negated) {
    for (std::size_t i = 0; i < a.arguments.size(); ++i) {
      Sum difference = a.arguments[i];
      const Sum other = is_negated ? b.arguments[i] : negate(b.arguments[i]);
      difference.insert(difference.end(), other.begin(), other.end());
      if (!is_zero_by_laws_(difference)) return false;
    }
    return true;
  };
  // A law f(−t) = ±f(t) also states that f is defined at both or at neither.
  return agree(false) || (bank_.library().functions()[a.symbol].parity != 0 && agree(true));
}

/// True if the signs of the arguments imply that they are in the function's domain.
bool Definedness::is_defined_by_signs(const Factor& application) {
  std::vector<Signs> arguments;
  for (const Sum& argument : application.arguments) arguments.push_back(signs(argument));
  return algebra::range_of(bank_.library().functions()[application.symbol], arguments).defined;
}

Signs Definedness::signs(const Sum& sum) {
  Signs all{false, true, false};
  for (const Product& product : sum) {
    const bool nonempty = has_point(product);  // evaluated first, since its guards are assumed below
    const Solver::Assumption here(solver_, product.guards);
    Signs own = algebra::sign_of(static_cast<double>(product.coefficient.num));
    for (const Factor& factor : product.factors) {
      const auto equal = [&](const Factor& other) { return equality_.are_equal(other, factor); };
      const bool is_square = std::ranges::count_if(product.factors, equal) % 2 == 0;
      own = own * (is_square ? algebra::square(signs(factor)) : signs(factor));
    }
    const bool may_cancel = !product.bound.empty() && own.negative && own.positive;
    own.zero |= may_cancel || !nonempty;
    all = all + own;
  }
  all.natural = std::ranges::all_of(sum, [](const Product& product) {
    return product.factors.empty() && product.bound.empty() && product.coefficient.den == 1 &&
           product.coefficient.num >= 0;
  });
  return all;
}

Signs Definedness::signs(const Factor& factor) {
  switch (factor.kind) {
    case Factor::Kind::Inverse:
      return {false, false, true};
    case Factor::Kind::Apply: {
      std::vector<Signs> arguments;
      for (const Sum& argument : factor.arguments) arguments.push_back(signs(argument));
      return algebra::range_of(bank_.library().functions()[factor.symbol], arguments).signs;
    }
    case Factor::Kind::Max: {
      const Solver::Assumption within(solver_, factor.guards);
      Signs own = signs(factor.arguments[0]);
      own.zero = true;  // of an empty range
      return own;
    }
    case Factor::Kind::Read:
    case Factor::Kind::Integer:
      break;
  }
  return {};
}

/// True if it is shown that the guards hold where all bound indices are 0.
bool Definedness::has_point(const Product& product) {
  Substitution first;
  for (const Atom atom : product.bound) first[atom] = Poly(0);
  return std::all_of(product.guards.begin(), product.guards.end(), [&](const Guard& guard) {
    const Guard at_region{guard.equality, symbols_.substitute(guard.poly, first)};
    return solver_.is_implied({}, at_region, "a sum has a point");
  });
}

}  // namespace rulemill::prove
