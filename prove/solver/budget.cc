#include "prove/solver/budget.h"

#include <algorithm>

#include "runtime/process/interrupt.h"

namespace rulemill::prove {
namespace {

constexpr std::uint64_t steps_between_checks = 1 << 15;  // steps; less than a hundredth of a second

}  // namespace

void Budget::refill() {
  spent_ = 0;
  next_check_ = 0;
}

void Budget::check() {
  runtime::throw_if_interrupted("prove");
  if (spent_ > limit_) throw LimitReached{"more than " + std::to_string(limit_) + " steps"};
  next_check_ = std::min(spent_ + steps_between_checks, limit_ + 1);
}

}  // namespace rulemill::prove
