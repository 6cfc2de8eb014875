#include "algebra/properties/piecewise_linear.h"

#include <algorithm>

#include "algebra/operators/function_interpreter.h"
#include "algebra/sizes/checked.h"

namespace rulemill::algebra {

using Op = Function::Op;

namespace {

constexpr std::size_t max_breakpoints = 1000;

/// The t at which the line has the value; nullopt if the slope is 0.
std::optional<Rational> solve(const Line& line, Rational value) {
  if (line.slope.num == 0) return std::nullopt;
  return (value + -line.offset) * reciprocal(line.slope);
}

/// One point left of all, one in each gap, and one right of all.
std::vector<Rational> sample_gaps(const std::vector<Rational>& points) {
  if (points.empty()) return {{0, 1}};
  std::vector<Rational> samples = {points.front() + Rational{-1, 1}};
  for (std::size_t i = 0; i + 1 < points.size(); ++i) samples.push_back((points[i] + points[i + 1]) * Rational{1, 2});
  samples.push_back(points.back() + Rational{1, 1});
  return samples;
}

void sort_unique(std::vector<Rational>& points) {
  std::ranges::sort(points, is_less);
  points.erase(std::unique(points.begin(), points.end()), points.end());
}

}  // namespace

std::optional<Line> PiecewiseLinear::line() const {
  return pieces_.size() == 1 ? std::optional(pieces_[0]) : std::nullopt;
}

const Line& PiecewiseLinear::piece(Rational t) const {
  const auto next = std::ranges::lower_bound(breakpoints_, t, is_less);
  return pieces_[static_cast<std::size_t>(next - breakpoints_.begin())];
}

PiecewiseLinear PiecewiseLinear::build(std::vector<Rational> points, const std::function<Line(Rational)>& line_at) {
  sort_unique(points);
  if (points.size() > max_breakpoints) throw Overflow("a function of too many pieces");
  const std::vector<Rational> samples = sample_gaps(points);
  PiecewiseLinear result;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Line line = line_at(samples[i]);
    if (!result.pieces_.empty() && result.pieces_.back() == line) continue;
    if (i > 0) result.breakpoints_.push_back(points[i - 1]);
    result.pieces_.push_back(line);
  }
  return result;
}

PiecewiseLinear operator+(const PiecewiseLinear& a, const PiecewiseLinear& b) {
  std::vector<Rational> points = a.breakpoints_;
  points.insert(points.end(), b.breakpoints_.begin(), b.breakpoints_.end());
  return PiecewiseLinear::build(std::move(points), [&](Rational t) {
    const Line &p = a.piece(t), &q = b.piece(t);
    return Line{p.slope + q.slope, p.offset + q.offset};
  });
}

PiecewiseLinear PiecewiseLinear::scaled(Rational factor) const {
  return build(breakpoints_, [&](Rational t) { return Line{piece(t).slope * factor, piece(t).offset * factor}; });
}

PiecewiseLinear PiecewiseLinear::max(const PiecewiseLinear& a, const PiecewiseLinear& b) {
  std::vector<Rational> points = a.breakpoints_;
  points.insert(points.end(), b.breakpoints_.begin(), b.breakpoints_.end());
  for (const Line& p : a.pieces_) {
    for (const Line& q : b.pieces_) {
      const Line difference{p.slope + -q.slope, p.offset + -q.offset};
      if (const std::optional<Rational> crossing = solve(difference, {0, 1})) points.push_back(*crossing);
    }
  }
  return build(std::move(points), [&](Rational t) { return is_less(a.at(t), b.at(t)) ? b.piece(t) : a.piece(t); });
}

PiecewiseLinear PiecewiseLinear::compose(const PiecewiseLinear& inner) const {
  std::vector<Rational> points = inner.breakpoints_;
  for (const Rational value : breakpoints_) {
    for (const Line& line : inner.pieces_) {
      if (const std::optional<Rational> t = solve(line, value)) points.push_back(*t);
    }
  }
  return build(std::move(points), [&](Rational t) {
    const Line &from = inner.piece(t), &to = piece(from.at(t));
    return Line{to.slope * from.slope, to.slope * from.offset + to.offset};
  });
}

std::optional<Rational> PiecewiseLinear::find_difference(const PiecewiseLinear& a, const PiecewiseLinear& b) {
  std::vector<Rational> points = a.breakpoints_;
  points.insert(points.end(), b.breakpoints_.begin(), b.breakpoints_.end());
  sort_unique(points);
  // Two points per gap suffice: different lines meet at most once.
  const std::vector<Rational> inside = sample_gaps(points);
  points.insert(points.end(), inside.begin(), inside.end());
  sort_unique(points);
  for (const Rational t : sample_gaps(points)) {
    if (a.at(t) != b.at(t)) return t;
  }
  return std::nullopt;
}

std::optional<PiecewiseLinear> to_piecewise_linear(const Function& function) {
  const auto leaf = [](const Function::Instruction& instruction) -> std::optional<PiecewiseLinear> {
    if (instruction.op == Op::Argument) return PiecewiseLinear({{1, 1}, {0, 1}});
    return instruction.exact ? std::optional(PiecewiseLinear({{0, 1}, *instruction.exact})) : std::nullopt;
  };
  const auto constant = [](const PiecewiseLinear& f) -> std::optional<Rational> {
    const std::optional<Line> line = f.line();
    return line && line->slope.num == 0 ? std::optional(line->offset) : std::nullopt;
  };
  const auto apply = [&](Op op, const PiecewiseLinear& a, const PiecewiseLinear& b) -> std::optional<PiecewiseLinear> {
    const Rational minus_one{-1, 1};
    switch (op) {
      case Op::Add:
        return a + b;
      case Op::Sub:
        return a + b.scaled(minus_one);
      case Op::Mul:
        if (const auto factor = constant(a)) return b.scaled(*factor);
        if (const auto factor = constant(b)) return a.scaled(*factor);
        return std::nullopt;
      case Op::Div: {
        const auto divisor = constant(b);
        if (!divisor || divisor->num == 0) return std::nullopt;
        return a.scaled(reciprocal(*divisor));
      }
      case Op::Max:
        return PiecewiseLinear::max(a, b);
      case Op::Min:
        return PiecewiseLinear::max(a.scaled(minus_one), b.scaled(minus_one)).scaled(minus_one);
      case Op::Abs:
        return PiecewiseLinear::max(b, b.scaled(minus_one));
      default:
        return std::nullopt;
    }
  };
  return interpret<PiecewiseLinear>(function, leaf, apply);
}

}  // namespace rulemill::algebra
