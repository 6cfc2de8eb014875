// Random and mutated proof steps over the polynomials and indices of a sum, in scope or not.
#pragma once

#include <algorithm>
#include <random>

#include "check/kernel/kernel.h"

namespace rulemill::check {

class StepMutator {
 public:
  using Op = Step::Op;
  static constexpr std::size_t op_count = static_cast<std::size_t>(Op::Unfold) + 1;

  StepMutator(const Sum& sum, Atoms& atoms, std::mt19937_64& random) : random_(random) {
    std::set<Atom> all = {atoms.bound(900)};
    polys_ = {Poly(0), Poly(1), Poly(-1)};
    for (Product product : sum) {
      all.insert(product.bound.begin(), product.bound.end());
      for_each_poly(product, [&](Poly& poly) {
        polys_.push_back(poly);
        atoms.collect(poly, all);
      });
    }
    for (const Atom atom : all) polys_.emplace_back(atom);
    atoms_.assign(all.begin(), all.end());
  }

  /// Changes one part of the step, or makes another of its kind.
  Step mutate(Step step) {
    if (!step.block.empty() && below(2) == 0) return with_changed_block(std::move(step));
    switch (below(7)) {
      case 0:
        if (!step.positions.empty()) step.positions[below(step.positions.size())] = below(4);
        break;
      case 1:
      case 2:
        if (!step.polys.empty()) change(step.polys[below(step.polys.size())]);
        if (step.guard) change(*step.guard);
        break;
      case 3:
        if (!step.images.empty()) change(step.images[below(step.images.size())].second);
        if (!step.inverse.empty() && below(2) == 0) change(step.inverse[below(step.inverse.size())].second);
        break;
      case 4:
        if (step.atom) step.atom = any_atom();
        if (!step.images.empty()) step.images[below(step.images.size())].first = any_atom();
        if (!step.inverse.empty()) step.inverse[below(step.inverse.size())].first = any_atom();
        break;
      case 5:
        if (!step.polys.empty() && !step.atom) step.polys.pop_back();
        if (!step.images.empty()) step.images.pop_back();
        break;
      default:
        step = random_step(step.op);
    }
    return step;
  }

  Step random_step() { return random_step(static_cast<Op>(below(op_count))); }

  void change(Poly& poly) {
    const Poly other = polys_[below(polys_.size())];
    const auto factor = static_cast<std::int64_t>(below(7)) - 3;
    const Poly changes[] = {poly + 1, poly - 1, poly + Poly(factor) * other, Poly(factor) * poly, other};
    poly = changes[below(5)];
  }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  Atom any_atom() { return atoms_[below(atoms_.size())]; }
  Poly any_poly() {
    Poly poly = polys_[below(polys_.size())];
    if (below(3) == 0) change(poly);
    return poly;
  }
  void change(Guard& guard) { below(3) == 0 ? void(guard.equality = !guard.equality) : change(guard.poly); }

  Step with_changed_block(Step step) {
    const std::size_t i = below(step.block.size());
    if (below(3) == 0)
      step.block.erase(step.block.begin() + static_cast<std::ptrdiff_t>(i));
    else
      step.block[i] = below(3) > 0 ? mutate(step.block[i]) : random_step();
    return step;
  }

  Step random_step(Op op) {
    static constexpr std::size_t positions[op_count] = {1, 1, 1, 1, 1, 2, 3, 3, 6, 2, 2, 2, 2, 2, 1, 2, 1, 2, 3,
                                                        2, 2, 3, 3, 2, 2, 2, 3, 2, 2, 2, 4, 2, 3, 2, 4, 2, 2};
    Step step;
    step.op = op;
    const bool may = op == Op::Set || op == Op::Map || op == Op::AddGuard || op == Op::DropGuard || op == Op::NewIndex;
    step.targets_maximum = op == Op::Project || (may && below(3) == 0);
    const bool extra = step.targets_maximum && op != Op::Project;
    for (std::size_t i = positions[static_cast<std::size_t>(op)] + (extra ? 1 : 0); i > 0; --i)
      step.positions.push_back(below(3));
    if (op == Op::Set || op == Op::NewIndex || op == Op::CountRange) step.atom = any_atom();
    if (op == Op::Split || op == Op::AddGuard || op == Op::DivideMax) step.guard = Guard{below(3) == 0, any_poly()};
    if (op == Op::Set || op == Op::NewIndex || op == Op::Index) step.polys = {any_poly()};
    // The bounds that make two guards of an index its range.
    if (op == Op::CountRange) step.polys = {Poly(*step.atom) - any_poly(), Poly(*step.atom) + any_poly()};
    if (op == Op::InstantiateMax || op == Op::Monotone || op == Op::Flatten || op == Op::DivideMax) {
      for (std::size_t i = below(4); i > 0; --i) step.polys.push_back(any_poly());
    }
    if (op == Op::Project || op == Op::Map) {
      for (std::size_t i = 1 + below(2); i > 0; --i) step.images.emplace_back(any_atom(), any_poly());
    }
    if (op == Op::Map) {
      for (std::size_t i = step.images.size(); i > 0; --i) step.inverse.emplace_back(any_atom(), any_poly());
    }
    return step;
  }

  std::mt19937_64& random_;
  std::vector<Poly> polys_;
  std::vector<Atom> atoms_;
};

}  // namespace rulemill::check
