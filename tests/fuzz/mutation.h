// Inputs of a parser, each a function of its seed: corpus files with mutated bytes, tokens, numbers and protobuf
// fields.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/parser.h"

namespace rulemill::fuzz {

class Mutation {
 public:
  /// Requires: the corpus is not empty.
  Mutation(const Parser& parser, std::vector<std::string> corpus);

  /// The first seeds return the corpus files unchanged.
  std::string input(std::uint64_t seed) const;

 private:
  std::string mutated(std::string text, std::mt19937_64& random) const;
  std::string token(std::mt19937_64& random) const;

  const Parser& parser_;
  std::vector<std::string> corpus_;
};

/// Changes one to three fields of a serialized protobuf. Bytes that cannot be parsed are returned unchanged.
std::string change_fields(const std::string& bytes, const std::string& message, std::mt19937_64& random);

}  // namespace rulemill::fuzz
