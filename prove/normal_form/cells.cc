#include "prove/normal_form/cells.h"

#include <algorithm>

#include "prove/normal_form/simplify.h"

namespace rulemill::prove {

namespace {

bool is_outer(const Guard& guard, const Product& product, const std::vector<Atom>& inner, const Symbols& symbols) {
  return !mentions(guard.poly, product.bound, symbols) && !mentions(guard.poly, inner, symbols);
}

class CellSplitter {
 public:
  CellSplitter(const std::vector<Atom>& inner, const Guards& known, Solver& solver,
               const std::function<Sum(std::vector<Sum>)>& leaf)
      : inner_(inner), known_(known), solver_(solver), leaf_(leaf) {}

  Sum split(std::vector<Sum> arguments) {
    visit(std::move(arguments));
    return std::move(result_);
  }

 private:
  void visit(std::vector<Sum> arguments) {
    const std::optional<Guard> guard = outer_guard(arguments);
    if (!guard) {
      for (Product& product : leaf_(std::move(arguments))) {
        product.guards.insert(product.guards.begin(), cell_.begin(), cell_.end());
        result_.push_back(std::move(product));
      }
      throw_if_too_large(result_);
      return;
    }
    visit_cell(*guard, arguments);
    if (solver_.has_fault(Fault::ComplementCellDropped)) return;
    for (const Guard& other : complement(*guard)) visit_cell(other, arguments);
  }

  void visit_cell(const Guard& guard, const std::vector<Sum>& arguments) {
    cell_.push_back(guard);
    Guards here = known_;
    here.insert(here.end(), cell_.begin(), cell_.end());
    if (!solver_.is_infeasible(here, "a case cannot happen")) {
      std::vector<Sum> inside = arguments;
      for (const Sum& argument : arguments) solver_.budget().spend(simplification_cost(argument, here.size()));
      for (Sum& argument : inside) {
        std::erase_if(argument, [&](Product& product) { return !restrict(product, here); });
      }
      visit(std::move(inside));
    }
    cell_.pop_back();
  }

  /// Drops the product's outer guards that `here` implies. Returns false if the product is zero there.
  bool restrict(Product& product, const Guards& here) {
    bool zero = false;
    std::erase_if(product.guards, [&](const Guard& guard) {
      if (zero || !is_outer(guard, product, inner_, solver_.symbols())) return false;
      if (solver_.is_implied(here, guard, "a case decides a guard")) return true;
      Guards both = here;
      both.push_back(guard);
      zero = solver_.is_infeasible(both, "a case excludes a guard");
      return false;
    });
    return !zero;
  }

  std::optional<Guard> outer_guard(const std::vector<Sum>& arguments) const {
    for (const Sum& argument : arguments) {
      for (const Product& product : argument) {
        for (const Guard& guard : product.guards) {
          if (is_outer(guard, product, inner_, solver_.symbols())) return guard;
        }
      }
    }
    return std::nullopt;
  }

  const std::vector<Atom>& inner_;
  const Guards& known_;
  Solver& solver_;
  const std::function<Sum(std::vector<Sum>)>& leaf_;
  Guards cell_;
  Sum result_;
};

bool is_application(const Sum& sum, std::uint32_t function) {
  if (sum.size() != 1) return false;
  const Product& product = sum[0];
  return product.coefficient == Rational{1, 1} && product.bound.empty() && product.guards.empty() &&
         product.factors.size() == 1 && product.factors[0].kind == Factor::Kind::Apply &&
         product.factors[0].symbol == function;
}

/// True if the body does not depend on the bound indices and the range has a point with equal small indices, so that
/// the maximum is the body.
bool is_constant(const std::vector<Atom>& bound, const Guards& range, const Sum& body, const Guards& known,
                 Solver& solver) {
  constexpr std::int64_t farthest = 3;
  for (const Product& product : body) {
    bool varies = false;
    for_each_poly(product, [&](const Poly& poly) { varies |= mentions(poly, bound, solver.symbols()); });
    if (varies) return false;
  }
  for (std::int64_t point = 0; point <= farthest; ++point) {
    Substitution at;
    for (const Atom atom : bound) at[atom] = point;
    if (std::all_of(range.begin(), range.end(), [&](const Guard& guard) {
          const Guard here{guard.equality, solver.symbols().substitute(guard.poly, at)};
          return solver.is_implied(known, here, "a window is not empty");
        })) {
      return true;
    }
  }
  return false;
}

/// Eliminates bound indices that the range fixes. Returns false if the range is certainly empty.
bool eliminate_fixed(std::vector<Atom>& bound, Guards& range, Sum& body, const Guards& known, Symbols& symbols) {
  Product product;
  product.bound = bound;
  product.guards = range;
  product.factors.emplace_back().arguments.push_back(std::move(body));
  if (!simplify(product, known, symbols)) return false;
  bound = std::move(product.bound);
  range = std::move(product.guards);
  body = std::move(product.factors[0].arguments[0]);
  return true;
}

}  // namespace

Sum split_into_cells(std::vector<Sum> arguments, const std::vector<Atom>& inner, const Guards& known, Solver& solver,
                     const std::function<Sum(std::vector<Sum>)>& leaf) {
  for (Sum& argument : arguments) {
    solver.budget().spend(simplification_cost(argument, known.size()));
    std::erase_if(argument, [&](Product& product) { return !simplify(product, known, solver.symbols()); });
  }
  return CellSplitter(inner, known, solver, leaf).split(std::move(arguments));
}

Sum apply_function(std::uint32_t function, std::vector<Sum> arguments, const Guards& known,
                   const algebra::TermBank& bank, Solver& solver) {
  const algebra::Function& laws = bank.library().functions()[function];
  return split_into_cells(std::move(arguments), {}, known, solver, [&](std::vector<Sum> on_cell) -> Sum {
    const bool zero = std::all_of(on_cell.begin(), on_cell.end(), [](const Sum& sum) { return sum.empty(); });
    if (zero && (laws.maps_zero_to_zero || solver.has_fault(Fault::ZeroLawForAll))) return {};
    if (laws.idempotent && on_cell.size() == 1 && is_application(on_cell[0], function)) return std::move(on_cell[0]);
    Factor factor;
    factor.kind = Factor::Kind::Apply;
    factor.symbol = function;
    factor.arguments = std::move(on_cell);
    Product product;
    product.factors.push_back(std::move(factor));
    return {std::move(product)};
  });
}

Sum make_maximum(std::vector<Atom> bound, Guards range, Sum body, const Guards& known, Solver& solver) {
  if (!eliminate_fixed(bound, range, body, known, solver.symbols())) return {};
  if (bound.empty()) {
    for (Product& product : body) product.guards.insert(product.guards.end(), range.begin(), range.end());
    return body;
  }
  std::vector<Sum> bodies;
  bodies.push_back(std::move(body));
  return split_into_cells(std::move(bodies), bound, known, solver, [&](std::vector<Sum> on_cell) -> Sum {
    if (on_cell[0].empty()) return {};
    if (is_constant(bound, range, on_cell[0], known, solver)) return std::move(on_cell[0]);
    Factor factor;
    factor.kind = Factor::Kind::Max;
    factor.bound = bound;
    factor.guards = range;
    factor.arguments = std::move(on_cell);
    Product product;
    product.factors.push_back(std::move(factor));
    return {std::move(product)};
  });
}

}  // namespace rulemill::prove
