// The fuzzed parsers, each as one function of bytes. It returns if the bytes are accepted and throws runtime::Error if
// they are rejected; anything else is a finding.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "algebra/library/library.h"
#include "runtime/text/bytes.h"

namespace rulemill::fuzz {

struct Parser {
  std::string name;
  std::string origin;  // error messages must name it
  void (*fuzz_one)(runtime::ByteView bytes);
  /// Full name of the protobuf message, whose fields are then mutated, too; else empty.
  std::string message;
  /// Recomputes the checksums of mutated bytes, so that the parser reads on; may be null.
  std::string (*seal)(const std::string& bytes);
  std::vector<std::string> dictionary;
  /// Further folders or files of valid inputs, relative to the source folder.
  std::vector<std::string> corpus;
};

/// The shipped operators, loaded once per process.
inline algebra::Library& shipped() {
  static algebra::Library library = algebra::Library::load("data/operators");
  return library;
}

// Each adds the parsers of one file.
void add_language_parsers(std::vector<Parser>& parsers);
void add_rule_set_parsers(std::vector<Parser>& parsers);
void add_folder_parsers(std::vector<Parser>& parsers);
void add_model_parser(std::vector<Parser>& parsers);
void add_npz_parser(std::vector<Parser>& parsers);

/// A parser that crashes, loops, throws a wrong exception and reports a wrong message, on inputs that are easy to
/// reach.
void add_planted_parser(std::vector<Parser>& parsers);

}  // namespace rulemill::fuzz
