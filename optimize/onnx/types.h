// ONNX's own shape inference, read as our types.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "optimize/graph.h"
#include "optimize/onnx/model.h"

namespace rulemill::optimize {

/// Types of a model's values by name. Dimension names become sizes "$NAME"; unknown dimensions sizes of their own.
class OnnxTypes {
 public:
  OnnxTypes(const OnnxModel& model, algebra::Symbols& symbols);
  /// Nothing if the value is unknown, not float32, or of unknown rank.
  ValueType type(const std::string& name) const;
  /// In order of appearance.
  const std::vector<algebra::Atom>& sizes() const { return sizes_; }

 private:
  std::unordered_map<std::string, ValueType> types_;
  std::vector<algebra::Atom> sizes_;
};

}  // namespace rulemill::optimize
