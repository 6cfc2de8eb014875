// What is fuzzed: every parser as one function of bytes. It returns if the bytes are accepted, throws runtime::Error if
// they are refused, and does nothing else.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/bytes.h"

namespace rulemill::fuzz {

struct Parser {
  std::string name;
  std::string origin;  // what messages have to name
  void (*fuzz_one)(runtime::ByteView bytes);
  /// Of a protobuf: its full name, so that its fields are mutated, not its bytes alone.
  std::string message;
  /// Makes checksums fit the changed bytes again, so that what lies behind them is reached; may be null.
  std::string (*seal)(const std::string& bytes);
  std::vector<std::string> dictionary;
  /// Further folders or files of valid inputs, from the source folder.
  std::vector<std::string> corpus;
};

/// Each file of parsers adds its own.
void add_language_parsers(std::vector<Parser>& parsers);
void add_rule_set_parsers(std::vector<Parser>& parsers);
void add_folder_parsers(std::vector<Parser>& parsers);
void add_model_parser(std::vector<Parser>& parsers);

/// A parser that crashes, loops, throws what it must not, and says what it must not, on inputs that are easy to come
/// by.
void add_planted_parser(std::vector<Parser>& parsers);

}  // namespace rulemill::fuzz
