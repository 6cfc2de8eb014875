#include "prove/solver/budget.h"

#include <algorithm>

#include "runtime/interrupt.h"

namespace rulemill::prove {

namespace {

constexpr std::uint64_t between_looks = 1 << 15;  // steps; less than a hundredth of a second

}  // namespace

void Budget::refill() {
  spent_ = 0;
  next_look_ = 0;
  limit_ = all_;
}

void Budget::look() {
  runtime::throw_if_interrupted("prove");
  if (spent_ > limit_) throw LimitReached{"more than " + std::to_string(limit_) + " steps"};
  next_look_ = std::min(spent_ + between_looks, limit_ + 1);
}

Budget::Share::Share(Budget& budget, std::uint64_t steps) : budget_(budget), before_(budget.limit_) {
  budget.limit_ = std::min(before_, budget.spent_ + steps);
  budget.next_look_ = 0;
}

}  // namespace rulemill::prove
