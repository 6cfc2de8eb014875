// Evaluates a saturated e-graph at random sizes and inputs and checks that all members of a class have the same value,
// which tests the rules against the definitions.
#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <random>

#include "algebra/execution/plan.h"
#include "egraph/egraph.h"
#include "egraph/goal.h"
#include "egraph/saturate.h"

namespace rulemill::egraph {

class ClassEvaluation {
 public:
  ClassEvaluation(const algebra::Library& library, const EGraph& egraph, std::uint64_t seed)
      : library_(library), egraph_(egraph), symbols_(egraph.size_table().symbols()), random_(seed) {}

  /// Returns a description of the first difference; empty if there is none.
  std::string run() {
    REQUIRE(choose_sizes());
    for (EClassId id = 0; id < egraph_.id_count(); ++id) {
      if (egraph_.node_of(id) == no_id) {
        auto error = record(id, random_tensor(shape(id)));
        if (!error.empty()) return error;
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (ENodeId node = 0; node < egraph_.node_count(); ++node) {
        if (evaluated_.contains(node) || !can_evaluate(node)) continue;
        changed = true;
        evaluated_[node] = true;
        if (auto error = evaluate(node); !error.empty()) return error;
      }
    }
    REQUIRE(evaluated_.size() == egraph_.node_count());
    return "";
  }

  std::size_t comparisons() const { return comparisons_; }

 private:
  /// Chooses sizes from 1 to 4 at which every fact holds.
  bool choose_sizes() {
    std::uniform_int_distribution<std::int64_t> size(1, 4);
    for (int attempt = 0; attempt < 1000; ++attempt) {
      chosen_sizes_.clear();
      const auto holds = [&](const algebra::Poly& fact) { return value_at(fact) >= 0; };
      if (std::ranges::all_of(egraph_.size_table().facts(), holds)) return true;
    }
    return false;
  }
  std::int64_t value_at(const algebra::Poly& poly) {
    return symbols_.evaluate(poly, [&](algebra::Atom atom) {
      return chosen_sizes_.try_emplace(atom, std::uniform_int_distribution<std::int64_t>(1, 4)(random_)).first->second;
    });
  }
  std::vector<std::int64_t> shape(EClassId id) {
    std::vector<std::int64_t> dims;
    for (const SizeId dim : egraph_.size_table().dims(egraph_.shape(id))) {
      dims.push_back(value_at(egraph_.size_table().poly(dim)));
    }
    return dims;
  }
  std::vector<double> random_tensor(const std::vector<std::int64_t>& dims) {
    std::int64_t elements = 1;
    for (const std::int64_t dim : dims) elements *= dim;
    std::vector<double> values(static_cast<std::size_t>(elements));
    for (double& value : values) value = std::uniform_int_distribution<int>(-3, 3)(random_);
    return values;
  }
  bool can_evaluate(ENodeId node) const {
    return std::ranges::all_of(egraph_.arguments(node), [&](EClassId v) { return values_.contains(egraph_.find(v)); });
  }

  std::string evaluate(ENodeId node) {
    const algebra::OperatorInstance& instance = library_.instance(egraph_.instance(node));
    std::vector<std::vector<std::int64_t>> shapes;
    std::vector<std::span<const double>> inputs;
    for (const EClassId argument : egraph_.arguments(node)) {
      shapes.push_back(shape(argument));
      inputs.emplace_back(values_.at(egraph_.find(argument)));
    }
    std::vector<std::int64_t> sizes;
    for (const SizeId size : egraph_.sizes(node)) sizes.push_back(value_at(egraph_.size_table().poly(size)));
    const auto plan = algebra::compile(instance, shapes, sizes);
    if (!plan) return instance.name + " does not type at the sizes chosen";
    const auto outputs = algebra::evaluate(library_.functions(), *plan, inputs);
    for (std::uint32_t o = 0; o < outputs.size(); ++o) {
      if (plan->output_shapes[o] != shape(egraph_.output(node, o))) return instance.name + " has another shape";
      if (auto error = record(egraph_.output(node, o), outputs[o]); !error.empty()) return error;
    }
    return "";
  }

  std::string record(EClassId id, const std::vector<double>& tensor) {
    const auto [known, is_new] = values_.try_emplace(egraph_.find(id), tensor);
    if (is_new) return "";
    ++comparisons_;
    bool agree = known->second.size() == tensor.size();
    for (std::size_t i = 0; agree && i < tensor.size(); ++i) {
      const double scale = std::max({1.0, std::abs(tensor[i]), std::abs(known->second[i])});
      agree = std::abs(tensor[i] - known->second[i]) <= 1e-9 * scale;
    }
    if (agree) return "";
    const ENodeId node = egraph_.node_of(id);
    return "class of " + (node == no_id ? "a variable" : library_.instance(egraph_.instance(node)).name) + " disagrees";
  }

  const algebra::Library& library_;
  const EGraph& egraph_;
  algebra::Symbols& symbols_;
  std::mt19937_64 random_;
  std::map<algebra::Atom, std::int64_t> chosen_sizes_;
  std::map<EClassId, std::vector<double>> values_;
  std::map<ENodeId, bool> evaluated_;
  std::size_t comparisons_ = 0;
};

}  // namespace rulemill::egraph
