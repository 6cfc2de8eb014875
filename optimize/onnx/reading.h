// What an ONNX node says of an operator's parameters and sizes, by one of its mappings.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algebra/library/library.h"
#include "optimize/onnx/mapping.h"

namespace rulemill::optimize {

/// By name: the numbers at the places where the mapping has the parameter or size, as they stand there.
using OnnxReading = std::map<std::string, std::vector<algebra::Poly>>;

/// Nothing where a list has another length than the mapping's. `parameters` tells the lengths of repeated packs.
std::optional<OnnxReading> read(const algebra::OnnxForm& form, const OnnxNodeFacts& facts,
                                const algebra::Library& library, std::span<const std::uint32_t> ranks,
                                const algebra::Parameters& parameters);

/// The parameter's value; nothing if none was read, or none that a parameter of its kind can have.
std::optional<algebra::ParameterValue> value_of(const algebra::OnnxForm::Parameter& parameter,
                                                const OnnxReading& reading, std::uint32_t rank);

/// What the mapping is for: `if PARAMETER = VALUE`.
std::optional<algebra::ParameterValue> chosen_value(const algebra::OnnxForm& form,
                                                    const algebra::OnnxForm::Parameter& parameter);

/// How inputs of these shapes are repeated against each other along the form's packs, as ONNX broadcasts: by parameter,
/// or nothing if they do not fit. All whole where they are equal. Sizes of a pack that the node says take part.
std::optional<algebra::Parameters> spreads(const algebra::OnnxForm& form, std::span<const algebra::Shape> shapes,
                                           const OnnxReading& reading);

}  // namespace rulemill::optimize
