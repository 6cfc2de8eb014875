#include "optimize/onnx/least_sizes.h"

#include <algorithm>

#include "algebra/sizes/checked.h"

namespace rulemill::optimize {

namespace {

/// A size at which a model that takes several runs: a multiple of small powers of two.
constexpr std::int64_t large_size = 512;

class Trial {
 public:
  Trial(const OnnxQuestion& question, std::span<const OpenSize> sizes, GraphBank& bank)
      : question_(question), sizes_(sizes), bank_(bank) {}

  std::optional<TooSmall> run() {
    if (bank_.library().onnx_forms(question_.facts.op_type).empty()) return std::nullopt;
    std::vector<std::int64_t> numbers(sizes_.size(), large_size);
    std::vector<std::size_t> occurring;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      if (sizes_[i].above < large_size && occurs(sizes_[i].atom)) occurring.push_back(i);
    }
    if (occurring.empty() || !fits(numbers)) return std::nullopt;
    for (const std::size_t i : occurring) {
      for (numbers[i] = 1; numbers[i] < large_size && !fits(numbers);) ++numbers[i];
      if (numbers[i] > 1) return TooSmall{sizes_[i].name, numbers[i] + sizes_[i].above};
      numbers[i] = large_size;
    }
    return std::nullopt;
  }

 private:
  bool occurs(algebra::Atom atom) const {
    return std::ranges::any_of(question_.inputs, [&](const std::optional<ValueId>& input) {
      if (!input || !bank_.value(*input).type) return false;
      return std::ranges::any_of(*bank_.value(*input).type,
                                 [&](const algebra::Poly& dim) { return bank_.symbols().contains(dim, atom); });
    });
  }

  bool fits(const std::vector<std::int64_t>& numbers) {
    algebra::Substitution at;
    for (std::size_t i = 0; i < sizes_.size(); ++i) at.emplace(sizes_[i].atom, algebra::Poly(numbers[i]));
    const auto set = [&](algebra::Poly& poly) { poly = bank_.symbols().substitute(poly, at); };
    OnnxQuestion asked = question_;
    for (auto& input : asked.inputs) {
      if (!input || !bank_.value(*input).type) continue;
      ValueType type = bank_.value(*input).type;
      std::ranges::for_each(*type, set);
      input = bank_.input(bank_.value(*input).name, type);
    }
    for (ValueType& type : asked.outputs) type = std::nullopt;  // what the model calls them is no number here
    if (asked.facts.first_shape) std::ranges::for_each(*asked.facts.first_shape, set);
    for (auto& literal : asked.facts.constant_inputs) {
      if (literal) std::ranges::for_each(literal->integers, set);
    }
    return std::holds_alternative<Recipe>(solve(asked, bank_));
  }

  const OnnxQuestion& question_;
  std::span<const OpenSize> sizes_;
  GraphBank& bank_;
};

}  // namespace

std::optional<TooSmall> too_small(const OnnxQuestion& question, std::span<const OpenSize> sizes, GraphBank& bank) {
  try {
    return Trial(question, sizes, bank).run();
  } catch (const algebra::Overflow&) {
    return std::nullopt;
  }
}

}  // namespace rulemill::optimize
