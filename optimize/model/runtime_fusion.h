// Fusions that the runtime performs itself: several nodes computed in one pass, operands that a node reads in another
// layout (a matrix product absorbs the transposition of an operand), and pairs of nodes whose fusion is slower than
// both. They are read from a file of patterns, so that the code names no operator.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "algebra/library/library.h"

namespace rulemill::optimize {

/// A pattern over operator names. A name without arguments is a variable; with a rank it stands for tensors of it. A
/// name with empty parentheses is a number (optimize/model/numbers.h).
struct NamedTerm {
  std::string name;
  std::vector<NamedTerm> arguments;
  std::map<std::string, std::vector<std::int64_t>> lists;  // required list parameters of the operator
  std::optional<std::int64_t> rank;
  bool is_number = false;
};

/// A graph in which patterns are matched, with numbered nodes and values: of a bank, or what an extraction selected.
class PatternGraph {
 public:
  struct Node {
    std::uint32_t id = 0;
    const algebra::OperatorInstance* instance = nullptr;
    std::vector<std::uint32_t> arguments;
  };

  virtual ~PatternGraph() = default;
  /// Returns the node that computes the value; nullopt if it is an input or constant, or the node has several outputs.
  virtual std::optional<Node> node_of(std::uint32_t value) const = 0;
  /// Returns true if the value is the number with this operator.
  virtual bool is_number(std::uint32_t value, const std::string& operator_name) const = 0;
};

/// Nodes that the runtime computes in one pass.
struct OnePass {
  std::string name;                  // of the pattern
  std::vector<std::uint32_t> inner;  // all nodes but the last
};

class RuntimeFusions {
 public:
  /// Reads patterns "NAME: TERM" (one pass; several may have one name), "NAME absorbs: TERM" (an operator that absorbs
  /// one operand) and "NAME slows: TERM" (an operator over another as its first argument, computed by the slower NAME);
  /// `#` begins a comment. Throws InputError with the place.
  static RuntimeFusions load(const std::filesystem::path& file);
  static RuntimeFusions parse(const std::string& text, const std::string& file);

  /// Returns the nodes that the runtime computes in one pass with the value's node as the last, by the first pattern
  /// that matches; nullopt if none does. The inner nodes may have other users.
  std::optional<OnePass> one_pass(const PatternGraph& graph, std::uint32_t value) const;
  /// Returns false if no pattern of nodes in one pass ends with the operator.
  bool can_end_one_pass(const algebra::OperatorInstance& last) const;
  /// Returns the operators of the numbers in patterns.
  std::set<std::string> numbers() const;
  /// Returns true if `user` absorbs its operand `inner` at this position: the runtime reads the arguments of `inner`.
  bool absorbs_operand(const algebra::OperatorInstance& user, std::size_t position,
                       const algebra::OperatorInstance& inner) const;
  /// Returns the name of what computes `last` and its first argument `inner` instead, and more slowly; null if nothing
  /// does. `inner` must have no other user.
  const std::string* slower_pair(const algebra::OperatorInstance& last, const algebra::OperatorInstance& inner) const;

 private:
  struct NamedPattern {
    std::string name;
    NamedTerm term;
  };

  std::vector<NamedPattern> one_pass_, absorptions_, slower_pairs_;
};

}  // namespace rulemill::optimize
