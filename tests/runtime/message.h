// The message of a thrown error.
#pragma once

#include <string>

#include "runtime/text/error.h"

namespace rulemill::runtime {

template <class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace rulemill::runtime
