// The parts of a model under names that do not depend on the model: its inputs and outputs, the contents of its
// constants, and the functions of its opaque nodes. Parts of two models with equal keys are the same function.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "algebra/library/library.h"
#include "optimize/onnx/format/model.h"

namespace rulemill::optimize {

/// An input or output of a model.
struct InterfaceItem {
  std::string name;
  std::string type;           // "FLOAT[n, 3]" of an input, "FLOAT" of an output
  std::string default_value;  // digest of the initializer of an input that a caller may omit; else empty
  bool operator==(const InterfaceItem&) const = default;
};

class ModelIdentity {
 public:
  /// Mappings of the library have defaults of attributes.
  ModelIdentity(const OnnxModel& model, const algebra::Library& library);

  /// Sorted by name. Initializers that no caller can set are not inputs.
  const std::vector<InterfaceItem>& inputs() const { return inputs_; }
  const std::vector<InterfaceItem>& outputs() const { return outputs_; }
  /// Returns a key of the node's operator, version, attributes, and absent inputs. Its inputs are not part of it, nor
  /// are names, except those inside of subgraphs. A node whose results may be random has a number in its key.
  const std::string& node_key(std::uint32_t position) const { return node_keys_.at(position); }
  /// Returns the same for an If, Loop or Scan without its subgraphs. Empty for other nodes, and if one may be random.
  const std::string& frame_key(std::uint32_t position) const { return frame_keys_.at(position); }
  /// Returns a key of the element type, shape and elements of an initializer; nullopt for other names.
  std::optional<std::string> initializer_key(const std::string& name) const;
  /// Returns ONNX's number of the element type of an initializer or of a Constant node's output; nullopt for others.
  std::optional<int> constant_type(const std::string& name) const;

 private:
  std::vector<InterfaceItem> inputs_, outputs_;
  std::vector<std::string> node_keys_, frame_keys_;
  std::unordered_map<std::string, std::string> initializer_keys_;
  std::unordered_map<std::string, int> constant_types_;
};

/// Throws InputError, with the second model's file, if the models have different inputs or outputs.
void require_same_interface(const ModelIdentity& before, const ModelIdentity& after, const std::string& file);

}  // namespace rulemill::optimize
