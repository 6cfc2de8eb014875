// Explanations: which applications of rules make two values equal, by the proof forest.
#pragma once

#include <cstdint>
#include <vector>

#include "egraph/saturate.h"

namespace rulemill::egraph {

class Explainer {
 public:
  Explainer(const Saturation& saturation, const EGraph& egraph);

  /// Adds the applications that make the two values, which must be equal, so; those that these needed too.
  void add(Value a, Value b);
  /// Numbers of applications, in the order in which they were made, each once.
  std::vector<std::uint32_t> applications() const;

 private:
  void explain_path(Value a, Value b);
  void explain_edge(Value from);
  void explain_application(std::uint32_t number);

  const Saturation& saturation_;
  const EGraph& egraph_;
  std::vector<std::pair<Value, Value>> open_;
  std::vector<bool> explained_;         // by value: the edge above it
  std::vector<bool> used_;              // by application
  std::vector<std::uint32_t> on_path_;  // by value: the last search that came by
  std::uint32_t search_ = 0;
};

}  // namespace rulemill::egraph
