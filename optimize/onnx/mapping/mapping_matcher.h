// Matching of one mapping with one ONNX node: the operator instance and sizes that the node encodes, if any. Parameters
// and sizes that the mapping does not determine are searched: enum values, and integers of the node.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "optimize/model/graph.h"
#include "optimize/onnx/mapping/mapping.h"
#include "optimize/onnx/mapping/node_bindings.h"

namespace rulemill::optimize {

/// An ONNX node as operator instances: steps over the node's inputs.
struct LoweredNode {
  struct Reference {
    enum class Source : std::uint8_t { Input, Step, Literal };
    Source source = Source::Input;
    std::uint32_t number = 0;  // index of the ONNX input, step or literal
    std::uint32_t output = 0;  // of the step
  };
  struct Step {
    algebra::InstanceId instance{};
    std::vector<algebra::Poly> sizes;
    std::vector<Reference> arguments;
  };
  std::vector<Step> steps;       // empty if opaque
  std::optional<Step> whole;     // the composite of which these are the steps
  std::vector<double> literals;  // attributes that are scalar arguments
  DataType literal_type = DataType::Float32;
  std::vector<Reference> outputs;  // of the node; each is an output of a step
  bool replaces_node = false;      // export writes the steps, never the node
  bool is_opaque() const { return steps.empty(); }
};

/// A mapping and the node's arguments in the operator's order.
struct MatchAttempt {
  const algebra::GenericOnnxMapping* mapping = nullptr;
  NodeDescription description;
  std::vector<LoweredNode::Reference> arguments;
  std::vector<algebra::Shape> shapes;
  std::vector<DataType> data_types;
  std::vector<std::uint32_t> ranks;
};

class MappingMatcher {
 public:
  /// `description`: of the whole node; an attempt may consider a part of it.
  MappingMatcher(const NodeDescription& description, GraphBank& bank) : description_(description), bank_(bank) {}

  struct Match {
    const algebra::OperatorInstance* instance = nullptr;
    std::vector<algebra::Poly> sizes;
    std::vector<algebra::Shape> outputs;
  };
  std::optional<Match> match(const MatchAttempt& attempt, const algebra::Parameters& given,
                             const NodeBindings& bindings);

  /// Returns why the attempts failed, in order.
  const std::vector<std::string>& rejections() const { return rejections_; }

 private:
  std::vector<algebra::ParameterValue> parameter_candidates(const algebra::GenericOnnxMapping& mapping,
                                                            const algebra::GenericOnnxMapping::Parameter& parameter,
                                                            const NodeBindings& bindings,
                                                            std::span<const std::uint32_t> ranks) const;
  std::optional<Match> try_instance(const MatchAttempt& attempt, const algebra::Parameters& parameters,
                                    const NodeBindings& bindings);
  void normalize_description(const algebra::OnnxMapping& mapping, std::span<const algebra::Poly> slots,
                             NodeDescription& description);
  std::optional<Match> try_sizes(const MatchAttempt& attempt, const algebra::OperatorInstance& instance,
                                 const algebra::OnnxMapping& mapping, const NodeBindings& bindings);
  std::vector<algebra::Poly> size_candidates(const algebra::OperatorInstance& instance,
                                             const algebra::OnnxMapping& mapping, std::uint32_t slot,
                                             std::vector<algebra::Poly> slots, const NodeBindings& bindings,
                                             const NodeDescription& description);
  std::optional<std::vector<algebra::Shape>> check_types(const MatchAttempt& attempt,
                                                         const algebra::OperatorInstance& instance,
                                                         const algebra::OnnxMapping& mapping,
                                                         const std::vector<algebra::Poly>& sizes);

  const NodeDescription& description_;
  GraphBank& bank_;
  std::vector<std::string> rejections_;
};

}  // namespace rulemill::optimize
