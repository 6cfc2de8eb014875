// The form of a candidate that does not depend on the names of its variables, nor on the order of commutative
// arguments, nor on which of two sides of one size stands first. Two candidates with one key are renamings of each
// other.
#pragma once

#include <string>
#include <vector>

#include "dedup/candidate_graph.h"

namespace rulemill::dedup {

class GeneralForms;

/// Instances by dictionary number, and the types.
struct Vocabulary {
  std::vector<const algebra::Instance*> instances;
  std::vector<bool> divides;  // by instance: whether its conditions ask for exact divisions
  std::vector<enumerate::Dims> types;
  /// Numbers that what an instance or a type is decides, and not what else the dictionary has: canonical forms stay
  /// what they are when a profile grows.
  std::vector<std::uint32_t> instance_words, type_words;
  const algebra::Library* library = nullptr;
  GeneralForms* forms = nullptr;  // knows what was typed before; may be null
};
Vocabulary vocabulary(const fingerprint::Dictionary& dictionary, algebra::Library& library);

enum class KeyKind : std::uint8_t {
  Exact,      // variables keep their types
  AnyShapes,  // ranks alone count, and which exact divisions that conditions ask for give one (ordinary or grouped);
              // candidates with size parameters are compared with symbolic sizes
};

/// Brings the graph to its canonical form (source the larger side) and returns its key; with `exact`, also the key that
/// it would have with its types.
std::string canonicalize(CandidateGraph& graph, const Vocabulary& words, KeyKind kind, std::string* exact = nullptr);
/// The form alone.
void bring_to_form(CandidateGraph& graph, const Vocabulary& words, KeyKind kind);

/// How many different dimensions its variables have: the more, the less its equality is due to chance.
std::size_t distinct_dimensions(const CandidateGraph& graph, const Vocabulary& words);

}  // namespace rulemill::dedup
