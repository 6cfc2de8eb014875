// Terms that compute a constant of one model from those of the other: what an optimizer, or a person, stored in place
// of a transposed, joined, cut, negated or scaled weight.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "algebra/sizes/poly.h"
#include "optimize/equal/prover/constant_agreement.h"
#include "optimize/model/graph.h"

namespace rulemill::optimize {

/// A node of a term. Arguments are numbers of leaves, or `inner` and more for outputs of the term's nodes before it.
struct TermNode {
  static constexpr std::uint32_t inner = 1U << 31;

  algebra::InstanceId instance{};
  std::vector<std::uint32_t> arguments;
  std::vector<algebra::Poly> sizes;
  std::uint32_t output = 0;  // that is used
};

/// Nodes of which the last one computes the constant, within the rounding of the term.
struct ConstantTerm {
  std::vector<TermNode> nodes;
  double difference = 0;  // the largest of elements, in units of the bound of their errors
};

class ConstantTerms {
 public:
  ConstantTerms(GraphBank& bank, ConstantComparison& constants) : bank_(bank), constants_(constants) {}

  /// `leaves`: constants that a term may use, by number; `numbers`: scalars among these and others that may be factors.
  std::optional<ConstantTerm> find(ValueId constant, const std::map<std::uint32_t, ValueId>& leaves,
                                   const std::map<std::uint32_t, ValueId>& numbers);
  /// Returns a number as one of the sizes, that less one, or a root or reciprocal of these.
  std::optional<ConstantTerm> find_by_sizes(ValueId constant, const std::set<std::int64_t>& sizes);

 private:
  using Leaf = std::pair<const std::uint32_t, ValueId>;
  struct Summand {
    std::vector<TermNode> nodes;
    std::uint32_t value = 0;  // number of a leaf, or of the last node
    std::int64_t multiplications = 0;
  };

  algebra::InstanceId instance(const char* name, algebra::Parameters parameters,
                               std::initializer_list<std::size_t> ranks) const;
  std::vector<TermNode> view(const Leaf& leaf, ValueId constant);
  std::vector<TermNode> reshaped(std::vector<TermNode> nodes, std::uint32_t argument, std::size_t rank,
                                 const std::vector<std::int64_t>& shape) const;
  std::optional<ConstantTerm> scaled(ValueId constant, const Leaf& leaf);
  std::optional<ConstantTerm> number(ValueId constant);
  std::optional<ConstantTerm> joined(ValueId constant);
  std::optional<ConstantTerm> added(ValueId constant);
  std::vector<Summand> products(ValueId constant) const;
  std::optional<ConstantTerm> confirmed(ValueId constant, std::vector<TermNode> nodes,
                                        std::int64_t multiplications = 0);

  GraphBank& bank_;
  ConstantComparison& constants_;
  std::map<std::uint32_t, ValueId> leaves_, numbers_;
  std::int64_t work_ = 0;  // multiplications of matrices in the terms that were tried
};

}  // namespace rulemill::optimize
