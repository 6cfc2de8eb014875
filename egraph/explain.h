// Explanations: the rule applications that make two ids equal, from the proof forest.
#pragma once

#include <cstdint>
#include <vector>

#include "egraph/saturate.h"

namespace rulemill::egraph {

/// Collects explanations.
class Explainer {
 public:
  Explainer(const Saturation& saturation, const EGraph& egraph);

  /// Adds the applications that make two equal ids equal, including those that justify their arguments.
  void add(EClassId a, EClassId b);
  /// The numbers of the applications, in order of application, each once.
  std::vector<std::uint32_t> applications() const;

 private:
  void explain_path(EClassId a, EClassId b);
  void explain_edge(EClassId from);
  void explain_application(std::uint32_t number);

  const Saturation& saturation_;
  const EGraph& egraph_;
  std::vector<std::pair<EClassId, EClassId>> pending_;
  std::vector<bool> explained_;            // by id: the edge above it
  std::vector<bool> used_;                 // by application
  std::vector<std::uint32_t> visited_by_;  // by id: the last path that visited it
  std::uint32_t path_number_ = 0;
};

}  // namespace rulemill::egraph
