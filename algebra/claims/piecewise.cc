#include "algebra/claims/piecewise.h"

#include <algorithm>

#include "algebra/sizes/checked.h"

namespace rulemill::algebra {
namespace {

constexpr std::size_t most_breaks = 1000;

bool below(Rational a, Rational b) {
  return static_cast<__int128>(a.num) * b.den < static_cast<__int128>(b.num) * a.den;
}

Rational negative(Rational a) { return {-a.num, a.den}; }

/// The t at which the line has the value, unless it is level.
std::optional<Rational> solve(const Line& line, Rational value) {
  if (line.slope.num == 0) return std::nullopt;
  return (value + negative(line.offset)) * make_rational(line.slope.den, line.slope.num);
}

/// A point left of all, in each gap, and right of all.
std::vector<Rational> between(const std::vector<Rational>& points) {
  if (points.empty()) return {{0, 1}};
  std::vector<Rational> samples = {points.front() + Rational{-1, 1}};
  for (std::size_t i = 0; i + 1 < points.size(); ++i) samples.push_back((points[i] + points[i + 1]) * Rational{1, 2});
  samples.push_back(points.back() + Rational{1, 1});
  return samples;
}

void sort_unique(std::vector<Rational>& points) {
  std::ranges::sort(points, below);
  points.erase(std::unique(points.begin(), points.end()), points.end());
}

}  // namespace

std::optional<Line> Piecewise::line() const { return pieces_.size() == 1 ? std::optional(pieces_[0]) : std::nullopt; }

const Line& Piecewise::piece(Rational t) const {
  const auto after = std::ranges::lower_bound(breaks_, t, below);
  return pieces_[static_cast<std::size_t>(after - breaks_.begin())];
}

Piecewise Piecewise::build(std::vector<Rational> points, const std::function<Line(Rational)>& line_at) {
  sort_unique(points);
  if (points.size() > most_breaks) throw Overflow("a function of too many pieces");
  const std::vector<Rational> samples = between(points);
  Piecewise result;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Line line = line_at(samples[i]);
    if (!result.pieces_.empty() && result.pieces_.back() == line) continue;
    if (i > 0) result.breaks_.push_back(points[i - 1]);
    result.pieces_.push_back(line);
  }
  return result;
}

Piecewise operator+(const Piecewise& a, const Piecewise& b) {
  std::vector<Rational> points = a.breaks_;
  points.insert(points.end(), b.breaks_.begin(), b.breaks_.end());
  return Piecewise::build(std::move(points), [&](Rational t) {
    const Line &p = a.piece(t), &q = b.piece(t);
    return Line{p.slope + q.slope, p.offset + q.offset};
  });
}

Piecewise Piecewise::scaled(Rational factor) const {
  return build(breaks_, [&](Rational t) { return Line{piece(t).slope * factor, piece(t).offset * factor}; });
}

Piecewise Piecewise::max(const Piecewise& a, const Piecewise& b) {
  std::vector<Rational> points = a.breaks_;
  points.insert(points.end(), b.breaks_.begin(), b.breaks_.end());
  for (const Line& p : a.pieces_) {
    for (const Line& q : b.pieces_) {
      const Line difference{p.slope + negative(q.slope), p.offset + negative(q.offset)};
      if (const std::optional<Rational> crossing = solve(difference, {0, 1})) points.push_back(*crossing);
    }
  }
  return build(std::move(points), [&](Rational t) { return below(a.at(t), b.at(t)) ? b.piece(t) : a.piece(t); });
}

Piecewise Piecewise::after(const Piecewise& inner) const {
  std::vector<Rational> points = inner.breaks_;
  for (const Rational value : breaks_) {
    for (const Line& line : inner.pieces_) {
      if (const std::optional<Rational> t = solve(line, value)) points.push_back(*t);
    }
  }
  return build(std::move(points), [&](Rational t) {
    const Line &from = inner.piece(t), &to = piece(from.at(t));
    return Line{to.slope * from.slope, to.slope * from.offset + to.offset};
  });
}

std::optional<Rational> Piecewise::difference(const Piecewise& a, const Piecewise& b) {
  std::vector<Rational> points = a.breaks_;
  points.insert(points.end(), b.breaks_.begin(), b.breaks_.end());
  sort_unique(points);
  // Two points of each gap: lines that differ meet once at most.
  const std::vector<Rational> inside = between(points);
  points.insert(points.end(), inside.begin(), inside.end());
  sort_unique(points);
  for (const Rational t : between(points)) {
    if (a.at(t) != b.at(t)) return t;
  }
  return std::nullopt;
}

}  // namespace rulemill::algebra
