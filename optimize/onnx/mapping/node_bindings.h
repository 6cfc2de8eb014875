// The values of an operator's parameters and sizes in an ONNX node, by one of its mappings.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algebra/library/library.h"
#include "optimize/onnx/mapping/mapping.h"

namespace rulemill::optimize {

/// By parameter or size name: the values at its positions in the mapping, unmodified.
using NodeBindings = std::map<std::string, std::vector<algebra::Poly>>;

/// Returns nullopt if a list has another length than in the mapping. `parameters` determine lengths of repeated packs.
std::optional<NodeBindings> bind_node(const algebra::GenericOnnxMapping& mapping, const NodeDescription& description,
                                      const algebra::Library& library, std::span<const std::uint32_t> ranks,
                                      const algebra::Parameters& parameters);

/// Returns the parameter's value; nullopt if it is not bound, or not valid for its kind.
std::optional<algebra::ParameterValue> bound_value(const algebra::GenericOnnxMapping::Parameter& parameter,
                                                   const NodeBindings& bindings, std::uint32_t rank);

/// Returns the value that the mapping requires by `if PARAMETER = VALUE`.
std::optional<algebra::ParameterValue> required_value(const algebra::GenericOnnxMapping& mapping,
                                                      const algebra::GenericOnnxMapping::Parameter& parameter);

/// Returns how the inputs are broadcast against each other along the mapping's packs, by parameter; empty lists if they
/// are equal, nullopt if they do not fit. Sizes of a pack that the node contains take part.
std::optional<algebra::Parameters> infer_spreads(const algebra::GenericOnnxMapping& mapping,
                                                 std::span<const algebra::Shape> shapes, const NodeBindings& bindings);

}  // namespace rulemill::optimize
