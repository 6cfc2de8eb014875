// Sizes computed at run time from the shapes of the model's inputs by integer arithmetic, so that a node that takes
// sizes as an input can be written although they are symbolic.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "optimize/model/graph.h"

namespace rulemill::optimize {

/// The positions of dynamic dimensions in the shapes of the model's inputs.
class RuntimeSizes {
 public:
  /// The size equals dimension `axis` of the input minus `offset`.
  struct InputDim {
    ValueId input;
    std::int64_t axis, offset;
  };

  RuntimeSizes(const GraphBank& bank, std::span<const ValueId> inputs);

  /// Whether all sizes in it are dimensions of inputs.
  bool is_computable(const algebra::Poly& size) const;
  const InputDim& input_dim(algebra::Atom size) const { return input_dims_.at(size); }

 private:
  const GraphBank& bank_;
  std::map<algebra::Atom, InputDim> input_dims_;
};

/// Writes the nodes that compute sizes, each size once.
class SizeWriter {
 public:
  struct Sink {
    /// Adds a node; returns its output's name.
    std::function<std::string(const char* op_type, const std::vector<std::string>& inputs)> node;
    /// Adds a list of one number; returns its name.
    std::function<std::string(std::int64_t number)> number;
    std::function<std::string(ValueId input)> input;
  };

  SizeWriter(const algebra::Symbols& symbols, const RuntimeSizes& sizes, Sink sink)
      : symbols_(symbols), sizes_(sizes), sink_(std::move(sink)) {}

  /// Writes a list of sizes; returns its name.
  std::string write_list(const std::vector<algebra::Poly>& sizes);

 private:
  std::string size(const algebra::Poly& size);
  std::string atom(algebra::Atom atom);
  std::string floor_division(const algebra::Poly& left, const algebra::Poly& right);
  std::string node(const char* op_type, const std::vector<std::string>& inputs);
  std::string number(std::int64_t value);

  const algebra::Symbols& symbols_;
  const RuntimeSizes& sizes_;
  Sink sink_;
  std::map<algebra::Poly, std::string> written_;
  std::map<ValueId, std::string> shapes_;
};

}  // namespace rulemill::optimize
