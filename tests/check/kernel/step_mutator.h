// Random and mutated proof steps over the polynomials and indices of a sum, in scope or not.
#pragma once

#include <algorithm>
#include <random>

#include "check/kernel/kernel.h"

namespace rulemill::check {

class StepMutator {
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  template <class List>
  auto& any_of(List& list) {
    return list[below(list.size())];
  }

 public:
  using Op = Step::Op;
  static constexpr std::size_t op_count = static_cast<std::size_t>(Op::Given) + 1;

  StepMutator(const Sum& sum, const Statement& statement, std::mt19937_64& random)
      : random_(random), laws_(statement.rule().laws) {
    Atoms& atoms = statement.atoms();
    std::set<Atom> all = {atoms.bound(900)};
    polys_ = {Poly(0), Poly(1), Poly(-1)};
    for (Product product : sum) {
      all.insert(product.bound.begin(), product.bound.end());
      for_each_poly(product, [&](Poly& poly) {
        polys_.push_back(poly);
        atoms.collect(poly, all);
      });
      for (const Factor& factor : product.factors) {
        sums_.push_back(to_sum(factor));
        sums_.insert(sums_.end(), factor.arguments.begin(), factor.arguments.end());
      }
    }
    sums_.emplace_back();
    for (const Atom atom : all) polys_.emplace_back(atom);
    atoms_.assign(all.begin(), all.end());
  }

  /// Changes one part of the step, or makes another of its kind.
  Step mutate(Step step) {
    if (!step.blocks.empty() && below(2) == 0) return with_changed_block(std::move(step));
    switch (below(9)) {
      case 0:
        if (!step.positions.empty()) any_of(step.positions) = below(4);
        break;
      case 1:
      case 2:
        if (!step.polys.empty()) change(any_of(step.polys));
        if (step.guard) change(*step.guard);
        break;
      case 3:
        if (!step.images.empty()) change(any_of(step.images).second);
        if (!step.inverse.empty() && below(2) == 0) change(any_of(step.inverse).second);
        break;
      case 4:
        if (step.atom) step.atom = any_of(atoms_);
        if (!step.images.empty()) any_of(step.images).first = any_of(atoms_);
        if (!step.inverse.empty()) any_of(step.inverse).first = any_of(atoms_);
        break;
      case 5:
        if (!step.polys.empty() && !step.atom) step.polys.pop_back();
        if (!step.images.empty()) step.images.pop_back();
        break;
      case 6:
        if (!step.indicators.empty()) change(any_of(step.indicators));
        if (step.op == Op::Law && below(2) == 0) step.reversed = !step.reversed;
        if (step.op == Op::Law && below(2) == 0) step.name = any_of(laws_).name;
        break;
      case 7:
        if (!step.sums.empty()) change(any_of(step.sums));
        break;
      default:
        step = random_step(step.op);
    }
    return step;
  }

  Step random_step() { return random_step(static_cast<Op>(below(op_count))); }

  void change(Poly& poly) {
    const Poly other = any_of(polys_);
    const auto factor = static_cast<std::int64_t>(below(7)) - 3;
    const Poly changes[] = {poly + 1, poly - 1, poly + Poly(factor) * other, Poly(factor) * poly, other};
    poly = changes[below(5)];
  }

 private:
  Poly any_poly() {
    Poly poly = any_of(polys_);
    if (below(3) == 0) change(poly);
    return poly;
  }
  void change(Guard& guard) { below(3) == 0 ? void(guard.equality = !guard.equality) : change(guard.poly); }
  void change(Step::Indicator& indicator) {
    switch (below(3)) {
      case 0:
        indicator.coefficient = Rational{static_cast<std::int64_t>(below(5)) - 2, 1};
        break;
      case 1:
        indicator.without = {below(4)};
        break;
      default:
        indicator.with.push_back({below(3) == 0, any_poly()});
    }
  }
  void change(Sum& sum) {
    std::vector<Poly*> polys;
    for (Product& product : sum) for_each_poly(product, [&](Poly& poly) { polys.push_back(&poly); });
    if (polys.empty() || below(3) == 0)
      sum = any_of(sums_);
    else
      change(*any_of(polys));
  }

  Step with_changed_block(Step step) {
    std::vector<Step>& block = any_of(step.blocks);
    if (block.empty()) {
      block.push_back(random_step());
      return step;
    }
    const std::size_t i = below(block.size());
    if (below(3) == 0)
      erase_at(block, i);
    else
      block[i] = below(3) > 0 ? mutate(block[i]) : random_step();
    return step;
  }

  Step random_step(Op op) {
    static constexpr std::size_t positions[op_count] = {2, 1, 1, 3, 3, 6, 2, 3, 2, 2, 2, 2, 3, 2, 2, 2, 2, 3};
    Step step;
    step.op = op;
    step.targets_maximum = (op == Op::Indicators || op == Op::Reindex) && below(3) == 0;
    for (std::size_t i = positions[static_cast<std::size_t>(op)] + (step.targets_maximum && op == Op::Reindex ? 1 : 0);
         i > 0; --i)
      step.positions.push_back(below(3));
    const auto any_assignment = [&] {
      Step::Assignment assignment;
      for (std::size_t i = 1 + below(2); i > 0; --i) assignment.emplace_back(any_of(atoms_), any_poly());
      return assignment;
    };
    if (op == Op::Indicators) {
      for (std::size_t i = step.targets_maximum ? 1 : below(3); i > 0; --i) change(step.indicators.emplace_back());
    }
    if (op == Op::Reindex) {
      if (below(3) > 0) step.images = any_assignment();
      if (below(3) > 0) step.inverse = any_assignment();
    }
    if (op == Op::Count) {  // the bounds that make two guards of an index its range
      step.atom = any_of(atoms_);
      step.polys = {Poly(*step.atom) - any_poly(), Poly(*step.atom) + any_poly()};
    }
    if (op == Op::Equal) step.polys = {any_poly()};
    if (op == Op::TakeOut || op == Op::Monotone || op == Op::Flatten || op == Op::DivideMax || op == Op::Given) {
      for (std::size_t i = below(4); i > 0; --i) step.polys.push_back(any_poly());
    }
    if (op == Op::DivideMax) step.guard = Guard{below(3) == 0, any_poly()};
    if (op == Op::Law) {
      const algebra::LawEquation& law = any_of(laws_);
      step.name = law.name;
      step.reversed = below(2) == 0;
      for (std::uint32_t v = 0; v < law.variables; ++v) step.sums.push_back(any_of(sums_));
      if (below(3) == 0) step.positions.push_back(below(3));
    }
    if (op == Op::Scale) step.sums = {any_of(sums_), any_of(sums_)};
    if (op == Op::Within || op == Op::Replace) step.blocks.resize(1);
    if (op == Op::Order) step.name = std::string(below(4), 's');
    return step;
  }

  std::mt19937_64& random_;
  std::span<const algebra::LawEquation> laws_;
  std::vector<Poly> polys_;
  std::vector<Atom> atoms_;
  std::vector<Sum> sums_;
};

}  // namespace rulemill::check
