// A node with what is known of its inputs, as the functions of the operator table read it.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <span>
#include <string>

#include "optimize/onnx/operators/onnx_operators.h"

namespace rulemill::optimize {

struct Arguments {
  const onnx::NodeProto& node;
  int opset = 0;
  std::span<const KnownTensor> inputs;
  EvaluationContext& context;

  algebra::Symbols& symbols() const { return context.symbols; }
  bool has(int input) const;
  /// Returns what is known of an input; nothing if it is absent.
  const KnownTensor& input(int i) const;
  const std::optional<Dimensions>& dims(int i = 0) const { return input(i).dims; }

  /// A list of integers that older opsets have as an attribute and newer ones as an input.
  struct List {
    bool is_given = false;
    std::optional<Dimensions> values = {};  // nullopt: of unknown length, or absent
    /// Returns the integers if all are numbers.
    std::optional<Dims> numbers() const { return to_numbers(values); }
    bool consists_of(std::int64_t number) const;
  };
  List list(int input, const std::string& attribute = "") const;
  /// Returns nullopt if the input is unknown or no single integer.
  Dimension single(int input) const;

  std::int64_t integer(const std::string& attribute, std::int64_t default_value) const;
  /// Returns the element type to which Cast or CastLike converts; 0: unknown.
  int cast_type() const;
  /// Returns the attribute `axis` as a position in the first input; nullopt if it is out of range.
  std::optional<std::size_t> axis(std::int64_t default_value) const;

  /// Broadcasts shapes as NumPy does; nullopt if they are incompatible. Of two sizes neither of which is 1 the model
  /// runs only if they are equal.
  std::optional<Dimensions> broadcast(const Dimensions& a, const Dimensions& b) const;
  /// Returns the common shape of all inputs; nullopt if one has an unknown rank.
  std::optional<Dimensions> broadcast_inputs() const;

 private:
  bool are_compatible_if_equal(const algebra::Poly& bounded, const algebra::Poly& size) const;
  Dimension broadcast(const Dimension& a, const Dimension& b) const;
};

/// The meaning of an operator: the movement of one output; or its only output. nullopt: nothing but its type is known.
using MovementFunction = std::optional<Movement>(const Arguments& arguments, std::size_t output);
using Computation = std::optional<KnownTensor>(const Arguments& arguments);

namespace operators {

MovementFunction identity, identity_of_one, concat_of_one, cast_to_same, empty_reduction, empty_pad;
MovementFunction reshape, flatten, squeeze, unsqueeze, transpose, slice, split, gather, expand, tile;

Computation constant, constant_of_shape, eye_like, shape, size, range, nonzero, einsum, resize;
Computation concat, gather_elements, where, cast, clip, reduce, elementwise, unary;

}  // namespace operators
}  // namespace rulemill::optimize
