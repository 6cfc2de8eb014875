// A card that is none: its memory is the host's, and its blocks of threads run one after the other, thread after
// thread, through the same bodies. For tests, and to count what a GPU would be sent.
#pragma once

#include <memory>

#include "execute/card.h"

namespace rulemill::execute {

std::unique_ptr<Card> emulated_card(const BatchLimits& limits = gpu_limits);

}  // namespace rulemill::execute
