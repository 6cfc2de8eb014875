// Sizes that the model leaves open, computed when it runs: from the shapes of its inputs, by integer arithmetic. So
// that a node which takes sizes as an input can be written where they are no numbers.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "optimize/onnx/import.h"
#include "optimize/onnx/size_operators.h"

namespace rulemill::optimize {

/// Where each open size stands in the shapes of the model's inputs.
class RunTimeSizes {
 public:
  /// The size is dimension `axis` of the input, less `above`.
  struct Place {
    ValueId input;
    std::int64_t axis, above;
  };

  RunTimeSizes(const GraphBank& bank, const Import& import);

  /// Whether it is made of sizes that inputs have.
  bool computable(const algebra::Poly& size) const;
  const Place& place(algebra::Atom size) const { return places_.at(size); }

 private:
  const GraphBank& bank_;
  std::map<algebra::Atom, Place> places_;
};

/// Writes what computes sizes, each once.
class SizeWriter {
 public:
  struct Out {
    /// A node with these inputs; its output's name.
    std::function<std::string(const char* op_type, const std::vector<std::string>& inputs)> node;
    /// A list of one number; its name.
    std::function<std::string(std::int64_t number)> number;
    std::function<std::string(ValueId input)> input;
  };

  SizeWriter(const algebra::Symbols& symbols, const RunTimeSizes& sizes, Out out)
      : symbols_(symbols), sizes_(sizes), out_(std::move(out)) {}

  /// A list of these sizes; its name.
  std::string list(const std::vector<algebra::Poly>& sizes);

 private:
  std::string size(const algebra::Poly& size);
  std::string atom(algebra::Atom atom);
  std::string floor_division(const algebra::Poly& left, const algebra::Poly& right);
  std::string node(SizeOperator op, const std::vector<std::string>& inputs);
  std::string number(std::int64_t value);

  const algebra::Symbols& symbols_;
  const RunTimeSizes& sizes_;
  Out out_;
  std::map<algebra::Poly, std::string> written_;
  std::map<ValueId, std::string> shapes_;
};

}  // namespace rulemill::optimize
