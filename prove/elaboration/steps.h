// Proof steps by what the search means with them.
#pragma once

#include "check/kernel/kernel.h"

namespace rulemill::prove::steps {

using check::Guard;
using check::Step;
using Positions = std::vector<std::size_t>;

inline Step make(Step::Op op, Positions at) {
  Step step;
  step.op = op;
  step.positions = std::move(at);
  return step;
}
/// A step on the range of the product at {p}, or of the maximum at {p, f}.
inline Step of_range(Step::Op op, Positions at) {
  Step step = make(op, std::move(at));
  step.targets_maximum = step.positions.size() == 2;
  return step;
}
/// A step with a block: Within or Replace.
inline Step nested(Step::Op op, Positions at) {
  Step step = make(op, std::move(at));
  step.blocks.resize(1);
  return step;
}

/// The product vanishes.
inline Step drop(std::size_t p) { return make(Step::Op::Indicators, {p}); }
/// The products cancel.
inline Step cancel(Positions products) { return make(Step::Op::Indicators, std::move(products)); }
/// The products become the first one, with the coefficient.
inline Step collect(Positions products, check::Rational coefficient) {
  Step step = make(Step::Op::Indicators, std::move(products));
  step.indicators.push_back({coefficient, {}, {}});
  return step;
}
inline Step add_guard(Positions at, Guard guard) {
  Step step = of_range(Step::Op::Indicators, std::move(at));
  step.indicators.push_back({{}, {}, {std::move(guard)}});
  return step;
}
inline Step drop_guard(Positions at, std::size_t position) {
  Step step = of_range(Step::Op::Indicators, std::move(at));
  step.indicators.push_back({{}, {position}, {}});
  return step;
}
/// The product is divided into one where the guard holds, and one for each region outside.
inline Step split(std::size_t p, const Guard& guard) {
  Step step = add_guard({p}, guard);
  for (const Guard& region : check::complement(guard)) step.indicators.push_back({{}, {}, {region}});
  return step;
}
/// The atom has a value: a bound index goes, others stay in an equation.
inline Step set(Positions at, check::Atom atom, check::Poly value) {
  Step step = of_range(Step::Op::Reindex, std::move(at));
  step.images.emplace_back(atom, std::move(value));
  return step;
}
/// A new index with a value.
inline Step name(Positions at, check::Atom atom, check::Poly value) {
  Step step = of_range(Step::Op::Reindex, std::move(at));
  step.inverse.emplace_back(atom, std::move(value));
  return step;
}
/// The law, read backwards if `reversed`, for values of its variables, replaces factors of the product at the first
/// position.
inline Step law(std::string name, Positions at, std::vector<check::Sum> values, bool reversed = false) {
  Step step = make(Step::Op::Law, std::move(at));
  step.name = std::move(name);
  step.sums = std::move(values);
  step.reversed = reversed;
  return step;
}

}  // namespace rulemill::prove::steps
