// Inputs for a parser, each a function of its seed: what a corpus has, with bytes, tokens, pieces and protobuf fields
// changed.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/parser.h"

namespace rulemill::fuzz {

class Mutation {
 public:
  /// The corpus is not empty.
  Mutation(const Parser& parser, std::vector<std::string> corpus);

  /// Seed 0, 1, … begin with the corpus as it is.
  std::string input(std::uint64_t seed) const;

 private:
  std::string changed(std::string text, std::mt19937_64& random) const;
  std::string token(std::mt19937_64& random) const;

  const Parser& parser_;
  std::vector<std::string> corpus_;
};

/// One to three fields of a serialized protobuf changed; the bytes as they are if they are none.
std::string change_fields(const std::string& bytes, const std::string& message, std::mt19937_64& random);

}  // namespace rulemill::fuzz
