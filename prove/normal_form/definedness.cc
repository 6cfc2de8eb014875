#include "prove/normal_form/definedness.h"

#include <algorithm>

#include "algebra/language/function_domain.h"
#include "prove/normal_form/lower.h"
#include "prove/normal_form/simplify.h"
#include "runtime/error.h"

namespace rulemill::prove {

using algebra::Signs;

namespace {

constexpr int most_regions = 6;                // demands that together meet one
constexpr std::size_t values_of_an_index = 6;  // tried where equations leave it open

bool applies(const algebra::ScalarExpr& expr, const std::vector<bool>& functions) {
  if (expr.kind == algebra::ScalarExpr::Kind::Apply && functions[expr.function]) return true;
  return std::ranges::any_of(expr.operands, [&](const auto& operand) { return applies(*operand, functions); });
}

bool applies(const algebra::Instance& instance, const std::vector<bool>& functions) {
  const auto any = [&](const std::vector<algebra::TensorDefinition>& tensors) {
    return std::ranges::any_of(tensors, [&](const auto& tensor) { return applies(*tensor.body, functions); });
  };
  return any(instance.outputs) || any(instance.intermediates);
}

}  // namespace

std::vector<bool> partial_functions(std::span<const algebra::Function> functions) {
  std::vector<bool> partial;
  for (const algebra::Function& function : functions) partial.push_back(!algebra::is_total(function));
  return partial;
}

bool applies(const algebra::TypedRule& rule, const algebra::TermBank& bank, const std::vector<bool>& functions) {
  return std::ranges::any_of(rule.types, [&](const auto& typed) {
    if (bank.term(typed.first).is_variable) return false;
    return applies(bank.library().instance(bank.node_of(typed.first).instance), functions);
  });
}

std::vector<Demand> demands_of(const std::vector<algebra::TermId>& side, const algebra::TypedRule& rule,
                               const algebra::TermBank& bank, Solver& solver, IndexSupply& supply) {
  const std::vector<bool> functions = partial_functions(bank.library().functions());
  std::vector<Demand> demands;
  for (const algebra::NodeId node : bank.nodes(side)) {
    const algebra::Instance& instance = bank.library().instance(bank.node(node).instance);
    if (!applies(instance, functions)) continue;
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
      for (Demand& demand : lowering.applications(term, index, functions)) {
        demand.bound.insert(demand.bound.end(), bound.begin(), bound.end());
        demands.push_back(std::move(demand));
      }
    }
  }
  return demands;
}

Definedness::Definedness(const algebra::TermBank& bank, Solver& solver, IndexSupply& supply, Equality& equality,
                         AlignLimits limits, Zero by_laws)
    : bank_(bank),
      solver_(solver),
      symbols_(solver.symbols()),
      supply_(supply),
      equality_(equality),
      limits_(limits),
      by_laws_(std::move(by_laws)) {
  for (const algebra::Function& function : bank.library().functions()) commutative_.push_back(function.commutative);
}

bool Definedness::follow(const std::vector<Demand>& wanted, const std::vector<Demand>& given) {
  for (const Demand& demand : wanted) {
    if (follows(demand, given, most_regions)) continue;
    left_over_ = to_string(demand, bank_, symbols_);
    return false;
  }
  return true;
}

bool Definedness::follows(Demand wanted, const std::vector<Demand>& given, int depth) {
  solver_.budget().spend(100 * (1 + given.size()));
  if (!simplify_fully(wanted, solver_, bank_)) return true;
  const Solver::Assumption here(solver_, wanted.guards);
  if (is_met(wanted.factors[0])) return true;
  return std::any_of(given.begin(), given.end(),
                     [&](const Demand& demand) { return follows_from(wanted, demand, given, depth); });
}

/// Whether one demand meets the other where both are made, and the rest of all meets it elsewhere. The solver assumes
/// the guards of `wanted`.
bool Definedness::follows_from(const Demand& wanted, const Demand& given, const std::vector<Demand>& all, int depth) {
  if (head(wanted.factors[0]) != head(given.factors[0])) return false;
  Demand other = given;
  rename_bound(other, supply_, symbols_);
  for (const Substitution& at : witnesses(wanted, other)) {
    Demand instance = other;
    instance.bound.clear();
    substitute(instance, at, symbols_);
    Guards open;
    for (const Guard& guard : instance.guards) {
      if (!solver_.implied({}, guard, "a demand is made here, too")) open.push_back(guard);
    }
    if (!open.empty() && (depth == 0 || solver_.infeasible(open, "two demands never meet"))) continue;
    {
      const Solver::Assumption both(solver_, open);
      if (!same(instance.factors[0], wanted.factors[0])) continue;
    }
    Demand rest = wanted;
    const bool elsewhere = std::all_of(open.begin(), open.end(), [&](const Guard& guard) {
      const std::vector<Guard> outside = complement(guard);
      const bool met = std::all_of(outside.begin(), outside.end(), [&](const Guard& region) {
        Demand there = rest;
        there.guards.push_back(region);
        return follows(std::move(there), all, depth - 1);
      });
      rest.guards.push_back(guard);
      return met;
    });
    if (elsewhere) return true;
  }
  return false;
}

/// Values for the indices that `given` binds, under which the two applications may be the same.
std::vector<Substitution> Definedness::witnesses(const Demand& wanted, const Demand& given) {
  const std::vector<FactorPair> pair = {{&given.factors[0], &wanted.factors[0]}};
  std::vector<Substitution> found;
  for (const Equations& way : ways_to_equal(pair, commutative_, limits_.choices, solver_.budget())) {
    std::vector<Atom> unknown = given.bound;
    unknown.insert(unknown.end(), way.unknown.begin(), way.unknown.end());
    const SolvedIndices solved = solve_indices(way.polys, unknown, symbols_, solver_.budget());
    std::vector<Substitution> maps(1);
    for (const Atom index : given.bound) {
      std::vector<Poly> values;
      const auto add = [&](const Poly& value) {
        const bool fits = !mentions(value, unknown, symbols_) && values.size() < values_of_an_index;
        if (fits && std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
      };
      if (const auto known = solved.map.find(index); known != solved.map.end()) {
        add(known->second);
      } else {
        add(Poly(0));
        // Where a range begins or ends, for the element asked for and for the first of all.
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

bool Definedness::same(const Factor& a, const Factor& b) {
  if (equality_.same(a, b)) return true;
  if (!by_laws_ || a.kind != Factor::Kind::Apply) return false;
  const auto agree = [&](bool opposite) {
    for (std::size_t i = 0; i < a.arguments.size(); ++i) {
      Sum difference = a.arguments[i];
      const Sum other = opposite ? b.arguments[i] : negated(b.arguments[i]);
      difference.insert(difference.end(), other.begin(), other.end());
      if (!by_laws_(difference)) return false;
    }
    return true;
  };
  // A law f(−t) = ±f(t) says, too, that f is defined at both or at neither.
  return agree(false) || (bank_.library().functions()[a.symbol].parity != 0 && agree(true));
}

/// Whether the arguments' signs alone keep the function in its domain.
bool Definedness::is_met(const Factor& application) {
  std::vector<Signs> arguments;
  for (const Sum& argument : application.arguments) arguments.push_back(signs(argument));
  return algebra::range_of(bank_.library().functions()[application.symbol], arguments).defined;
}

Signs Definedness::signs(const Sum& sum) {
  Signs all{false, true, false};
  for (const Product& product : sum) {
    const bool has_point = has_a_point(product);  // asked first: below, its guards are assumed to hold somewhere
    const Solver::Assumption here(solver_, product.guards);
    Signs own = algebra::sign_of(static_cast<double>(product.coefficient.num));
    for (const Factor& factor : product.factors) own = own * signs(factor);
    const bool may_cancel = !product.bound.empty() && own.negative && own.positive;
    own.zero |= may_cancel || !has_point;
    all = all + own;
  }
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
      own.zero = true;  // of nothing
      return own;
    }
    case Factor::Kind::Read:
    case Factor::Kind::Whole:
      break;
  }
  return {};
}

/// Shown: some value of the bound indices, all of them 0, say, satisfies the guards.
bool Definedness::has_a_point(const Product& product) {
  Substitution first;
  for (const Atom atom : product.bound) first[atom] = Poly(0);
  return std::all_of(product.guards.begin(), product.guards.end(), [&](const Guard& guard) {
    const Guard there{guard.equality, symbols_.substitute(guard.poly, first)};
    return solver_.implied({}, there, "a sum has a point");
  });
}

}  // namespace rulemill::prove
