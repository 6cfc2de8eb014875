// Which of the known rules a derivation can come to use: those whose found nodes are of operator instances that its
// goal has or that rules in reach build. The other rules are never looked at, so that an answer depends on the goal,
// the rules in reach and their order alone.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "algebra/terms/term.h"

namespace rulemill::prove {

class Reach {
 public:
  explicit Reach(algebra::Library& library) : library_(library) {}

  /// What of a rule in text form decides what it reaches and what reaches it: operator instances, by hashes that every
  /// run shares.
  using Hashes = std::vector<std::uint64_t>;
  struct Nodes {
    Hashes all;
    std::vector<std::pair<Hashes, Hashes>> uses;  // found, built: each way to use it (egraph/pattern.h); of goals none
  };
  static Nodes nodes_of_goal(const std::string& rule, algebra::Library& library);
  static Nodes nodes_of_rule(const std::string& rule, algebra::Library& library);

  /// One of adding() or removing(), as workers are told of it.
  void change(const std::string& change);
  void add(const std::string& rule, const Nodes& nodes);
  void remove(const std::string& change);
  /// Takes a rule out of use for a while, or back.
  void enable(std::uint32_t rule, bool enabled) { rules_.at(rule).enabled = enabled; }

  std::uint32_t size() const { return static_cast<std::uint32_t>(rules_.size()); }
  const std::string& text(std::uint32_t rule) const { return rules_.at(rule).text; }

  /// Operator instances by number, ascending.
  using Instances = std::vector<std::uint32_t>;
  Instances instances_of(const Nodes& nodes) { return numbers_of(nodes.all); }
  Instances instances_of(const std::string& rule) { return instances_of(nodes_of_goal(rule, library_)); }
  const Instances& instances_of(std::uint32_t rule) const { return rules_.at(rule).instances; }

  /// The enabled rules in reach of a goal with these instances, in their order, but none of [first_out, end_out).
  std::vector<std::uint32_t> rules_for(const Instances& goal, std::uint32_t first_out, std::uint32_t end_out);

 private:
  struct Rule {
    std::string text;
    Instances instances;
    bool enabled = true;
  };
  /// A way to use a rule: once all of `found` are there, `built` can be.
  struct Use {
    std::uint32_t rule = 0, found = 0;
    Instances built;
  };
  Instances numbers_of(const Hashes& hashes);

  algebra::Library& library_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  // of instances, by hash
  std::vector<Rule> rules_;
  std::vector<Use> uses_;
  std::vector<std::vector<std::uint32_t>> waiting_;  // by instance: uses that it is found by
};

}  // namespace rulemill::prove
