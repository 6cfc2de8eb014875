// Syntax trees of the definition language: names are not resolved, ranks and parameters not fixed. definition_parser.h
// builds them; only algebra/expansion and algebra/library use them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algebra/operators/function.h"
#include "algebra/operators/operator_instance.h"

namespace rulemill::algebra::syntax {

struct Place {
  int line = 1;
  int column = 1;
};

struct Index;
using IndexPtr = std::shared_ptr<const Index>;
struct IndexItem;

/// parameter = value, decided when an instance is expanded.
struct ParameterPredicate {
  std::string parameter;
  std::string value;
};

/// An index expression. ExactDiv is a / b, where b must divide a; FloorDiv is a // b. Pack is name..., expanded to each
/// element in turn. Product multiplies the elements of an item. Offset is the row-major offset of a pack of indices.
struct Index {
  enum class Kind : std::uint8_t {
    Number,
    Name,
    Element,
    Pack,
    Product,
    Offset,
    Add,
    Sub,
    Mul,
    ExactDiv,
    FloorDiv,
    Mod,
    Min,
    Max,
    If
  };
  Kind kind = Kind::Number;
  Place place;
  std::int64_t number = 0;
  std::string name;                       // Name; Element, Pack, Offset: the pack
  ParameterPredicate predicate;           // If: a when it holds, b otherwise
  IndexPtr a, b;                          // Element: a is the position within the pack
  std::shared_ptr<const IndexItem> item;  // Product
  std::uint32_t depth = 1;                // of the tree
};

struct Comparison {
  Relation relation = Relation::Eq;
  IndexPtr a, b;
};

/// One item of a list of indices or dimensions: an expression, repeated for each element of the packs in it, or a pack
/// (name...) with at most one change.
struct IndexItem {
  enum class Change : std::uint8_t {
    None,
    Replace,  // pack... with AXES: value     replaces the elements at the axes
    Insert,   // pack... insert AXES: value   inserts the value at the axes
    Keep,     // pack... only AXES            the elements at the axes
    Remove,   // pack... without AXES         the other elements
    Gather,   // pack...[PERM]                position k holds element perm[k]
    Scatter,  // pack... at PERM              position perm[k] holds element k
    Unravel,  // pack... of value             the indices, over these dimensions, of this row-major offset
  };
  Place place;
  IndexPtr expression;  // null for a pack
  std::string pack;
  Change change = Change::None;
  std::string parameter;  // an axis, axes or a permutation
  IndexPtr value;
};

struct Scalar;
using ScalarPtr = std::shared_ptr<const Scalar>;

/// name < extent, or pack... < extents: an index of a tensor, a sum or a maximum.
struct Binding {
  std::string name;
  bool is_pack = false;
  IndexItem extent;
  Place place;
};

struct Scalar {
  enum class Kind : std::uint8_t { Number, Read, Add, Sub, Mul, DivideBySize, Sum, Max, Apply, Case };
  Kind kind = Kind::Number;
  Place place;
  Rational number;
  std::string name;  // Read: tensor; Apply: function or parameter
  std::vector<IndexItem> indices;
  IndexPtr divisor;
  std::vector<Binding> bound;
  std::vector<Comparison> guard;
  std::vector<ScalarPtr> operands;
  std::uint32_t depth = 1;  // of the tree
};

struct Tensor {
  std::string name;
  Place place;
  std::vector<Binding> indices;
  ScalarKind scalar_kind = ScalarKind::Real;
  ScalarPtr body;
};

struct InputDim {
  std::string name;  // empty for a number
  bool is_pack = false;
  std::int64_t number = 0;
  std::string spread;  // pack... by SPREAD: the parameter that broadcasts the pack
  Place place;
};

struct Input {
  std::string name;
  Place place;
  std::vector<InputDim> dims;
  ScalarKind scalar_kind = ScalarKind::Real;
};

struct Parameter {
  using Kind = ParameterKind;
  Kind kind = Kind::Int;
  std::string name;
  std::string pack;  // Ints: one number per dimension of this pack
  Place place;
  std::vector<std::string> enum_values;
  std::vector<std::int64_t> int_values;  // finite integer domain; empty: unrestricted
  std::optional<ParameterValue> default_value;
};

struct Let {
  std::string name;
  bool is_pack = false;
  IndexItem value;
  Place place;
};

struct Condition {
  Comparison comparison;
  std::optional<ParameterPredicate> predicate;         // the condition applies only if this holds
  std::string except_left, except_right, except_axis;  // d = e except axis
  Place place;
};

/// The value of an attribute or constant input; the fields are those of OnnxValue.
struct OnnxValueSyntax {
  bool is_list = false;
  std::vector<IndexItem> values;
  std::optional<std::string> string_value;
  std::optional<double> float_value;
  IndexPtr wrap_size;
  IndexPtr clamp_size;
  bool as_float32 = false;
  bool is_reshape_shape = false;
  bool is_data_type = false;
};

struct OnnxAttributeSyntax {
  std::string name;
  OnnxValueSyntax value;
  std::optional<double> default_number;
  std::optional<std::string> default_string;
  bool is_optional = false;
  bool ignored = false;  // name any: has no effect
};

struct OnnxMappingSyntax {
  std::string op_type;
  std::string domain;  // empty: ONNX's own
  int since = 1;
  int until = 1 << 20;
  bool variadic = false;
  bool variadic_outputs = false;
  std::string activation;                                       // the enum parameter that names a fused activation
  std::vector<std::pair<std::string, OnnxValueSyntax>> inputs;  // an input's name, or "" and a constant
  std::vector<OnnxAttributeSyntax> attributes;
  std::vector<std::pair<std::string, IndexPtr>> computed_sizes;  // with NAME = EXPRESSION
  std::vector<ParameterPredicate> predicates;
  Place place;
};

/// A call inside a composite: operator(arguments; parameters).
struct Call {
  std::string name;
  Place place;
  std::vector<std::shared_ptr<const Call>> arguments;  // a call without parentheses names an input
  bool is_input = false;
  std::vector<std::pair<std::string, IndexPtr>> parameters;  // an enum value is a Name
  std::map<std::string, std::vector<std::int64_t>> lists;    // parameters that are lists of numbers
};

struct Operator {
  std::string name;
  Place place;
  std::string origin;
  std::string text;  // the tokens without ONNX mappings, for the digest
  bool commutative = false;
  std::vector<Input> inputs;
  std::vector<Parameter> parameters;
  std::vector<Let> lets;
  std::vector<Condition> conditions;
  std::vector<Tensor> tensors;
  std::vector<Tensor> outputs;
  std::vector<OnnxMappingSyntax> onnx;
  std::shared_ptr<const Call> composite;

  const Parameter* parameter(const std::string& wanted) const {
    for (const Parameter& candidate : parameters) {
      if (candidate.name == wanted) return &candidate;
    }
    return nullptr;
  }
};

/// include "folder": loads its definitions first.
struct Include {
  std::string folder;
  std::string place;
};

/// A declared law.
struct DeclaredLaw {
  Law law{};
  std::string text;
  std::string place;
};

/// A declared equation between formulas of the law's variables, that holds where the formulas of `positive` are, and
/// the last operation of `defined` is defined. All of them take the same arguments.
struct DeclaredEquation {
  std::string function, name;  // law NAME: …, of the function
  Function left, right;
  std::vector<Function> positive, defined;
  std::string text, place;
};

struct FunctionSyntax {
  Function function;
  std::string text;  // the tokens without the ONNX mapping, for the digest
  std::string place;
  std::vector<DeclaredLaw> laws;
  std::vector<DeclaredEquation> equations;
};

struct Definitions {
  std::string origin;
  std::vector<Include> includes;
  std::vector<FunctionSyntax> functions;
  std::vector<Operator> operators;
};

/// The operators that a composite calls, and every name that the operator may apply as a function.
std::vector<std::string> called_operators(const Operator& op);
std::vector<std::string> applied_functions(const Operator& op);

/// Parses one text; `origin` names it in messages. Throws InputError with file:line:column.
Definitions parse(std::string_view text, const std::string& origin);

}  // namespace rulemill::algebra::syntax
