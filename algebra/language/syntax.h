// Syntax trees of the definition language, as parsed: names not yet resolved, ranks and parameters still open.
// Private to the loader: definition_parser builds them, definition_check and instantiate read them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algebra/language/function.h"
#include "algebra/language/instance.h"
#include "algebra/language/onnx_form.h"

namespace rulemill::algebra::syntax {

struct Place {
  int line = 1;
  int column = 1;
};

struct Index;
using IndexPtr = std::shared_ptr<const Index>;
struct Entry;

/// parameter = word, a choice made when an instance is expanded.
struct Choice {
  std::string parameter;
  std::string word;
};

/// An index expression. Exact is a / b, which must divide; Floor is a // b. Pack is name..., each element in turn;
/// Product multiplies the elements of an entry; Offset is the row-major position of a pack of indices.
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
    Exact,
    Floor,
    Mod,
    Min,
    Max,
    If
  };
  Kind kind = Kind::Number;
  Place place;
  std::int64_t number = 0;
  std::string name;                    // Name; Element, Pack, Offset: the pack
  Choice choice;                       // If: a when it holds, b otherwise
  IndexPtr a, b;                       // Element: a is the position within the pack
  std::shared_ptr<const Entry> entry;  // Product
  std::uint32_t depth = 1;             // of the tree
};

struct Comparison {
  Relation relation = Relation::Eq;
  IndexPtr a, b;
};

/// One entry of an index list or a list of dimensions: an expression, which stands for as many as the packs in it have
/// elements, or a pack (name...) with one change.
struct Entry {
  enum class Change : std::uint8_t {
    None,
    With,     // pack... with AXES: value   at the axes stands the value
    Insert,   // pack... insert AXES: value there the value stands between the others
    Only,     // pack... only AXES          the elements at the axes
    Without,  // pack... without AXES       the others
    Gather,   // pack...[PERM]              position k holds element perm[k]
    Scatter,  // pack... at PERM            position perm[k] holds element k
    Of,       // pack... of value           the indices over the pack of the element at this row-major position
  };
  Place place;
  IndexPtr single;  // unless a pack
  std::string pack;
  Change change = Change::None;
  std::string by;  // a parameter: an axis, axes or a permutation
  IndexPtr value;
};

struct Scalar;
using ScalarPtr = std::shared_ptr<const Scalar>;

struct Binding {
  std::string name;
  bool is_pack = false;
  Entry extent;
  Place place;
};

struct Scalar {
  enum class Kind : std::uint8_t { Number, Read, Add, Sub, Mul, DivideBySize, Sum, Max, Apply, Case };
  Kind kind = Kind::Number;
  Place place;
  Rational number;
  std::string name;  // Read: tensor; Apply: function or parameter
  std::vector<Entry> indices;
  IndexPtr divisor;
  std::vector<Binding> bound;
  std::vector<Comparison> guard;
  std::vector<ScalarPtr> operands;
  std::uint32_t depth = 1;  // of the tree
};

/// name < extent, or pack... < packed dimensions.
struct OutputIndex {
  std::string name;
  bool is_pack = false;
  Entry extent;
  Place place;
};

struct Tensor {
  std::string name;
  Place place;
  std::vector<OutputIndex> indices;
  ElementKind kind = ElementKind::Numbers;
  ScalarPtr body;
};

struct InputDim {
  std::string name;  // empty for a number
  bool is_pack = false;
  std::int64_t number = 0;
  std::string spread;  // pack... by SPREAD: the parameter that says which dimensions are repeated
  Place place;
};

struct Input {
  std::string name;
  Place place;
  std::vector<InputDim> dims;
  ElementKind kind = ElementKind::Numbers;
};

struct Parameter {
  using Kind = ParameterKind;
  Kind kind = Kind::Int;
  std::string name;
  std::string pack;  // Ints: one for each dimension of it
  Place place;
  std::vector<std::string> words;
  std::vector<std::int64_t> numbers;  // finite integer domain, may be empty
  std::optional<ParameterValue> default_value;
};

struct Let {
  std::string name;
  bool is_pack = false;
  Entry value;
  Place place;
};

struct Condition {
  Comparison comparison;
  std::optional<Choice> choice;                        // holds only where the parameter has the word
  std::string except_left, except_right, except_axis;  // d = e except axis
  Place place;
};

struct OnnxEntry {  // an attribute's value or a constant input
  bool is_list = false;
  std::vector<Entry> values;
  std::optional<std::string> word;
  std::optional<double> number;
  IndexPtr wrapped;    // negative integers count from here
  IndexPtr clamped;    // the same, and what is beyond is here
  bool reals = false;  // whole numbers that ONNX has as float32
  bool shape = false;  // 0 is the first input's dimension, -1 what is left
  bool kind = false;   // ONNX's number of the first input's element type
};

struct OnnxAttributeSyntax {
  std::string name;
  OnnxEntry value;
  std::optional<double> absent;
  std::optional<std::string> absent_word;
  bool absent_any = false;
  bool ignored = false;  // name any: whatever its value
};

struct OnnxSyntax {
  std::string op_type;
  int since = 1;
  int until = 1 << 20;
  bool variadic = false;
  bool variadic_outputs = false;
  std::string wrapper;                                    // word parameter whose function wraps the result
  std::vector<std::pair<std::string, OnnxEntry>> inputs;  // input name, or "" and a constant
  std::vector<OnnxAttributeSyntax> attributes;
  std::vector<std::pair<std::string, IndexPtr>> sizes;  // with NAME = EXPRESSION
  std::vector<Choice> choices;
  Place place;
};

/// A call inside a composite: operator(arguments; parameters).
struct Call {
  std::string name;
  Place place;
  std::vector<std::shared_ptr<const Call>> arguments;  // a call without parentheses is an input's name
  bool is_input = false;
  std::vector<std::pair<std::string, IndexPtr>> parameters;  // a word is a Name
};

struct Operator {
  std::string name;
  Place place;
  std::string origin;
  std::string text;  // canonical tokens but for ONNX mappings, for the digest
  bool commutative = false;
  std::vector<Input> inputs;
  std::vector<Parameter> parameters;
  std::vector<Let> lets;
  std::vector<Condition> conditions;
  std::vector<Tensor> tensors;
  std::vector<Tensor> outputs;
  std::vector<OnnxSyntax> onnx;
  std::shared_ptr<const Call> composite;

  const Parameter* parameter(const std::string& wanted) const {
    for (const Parameter& candidate : parameters) {
      if (candidate.name == wanted) return &candidate;
    }
    return nullptr;
  }
};

/// include "folder": its definitions come first.
struct Include {
  std::string folder;
  std::string place;
};

/// A law as it is claimed.
struct LawClaim {
  Law law{};
  std::string text;
  std::string place;
};

struct FunctionSyntax {
  Function function;
  std::string text;  // canonical tokens but for the ONNX mapping, for the digest
  std::string place;
  std::vector<LawClaim> laws;
};

struct Definitions {
  std::string origin;
  std::vector<Include> includes;
  std::vector<FunctionSyntax> functions;
  std::vector<Operator> operators;
};

/// What an operator refers to: the operators that a composite calls, and every name that it may apply as a function.
std::vector<std::string> called_operators(const Operator& op);
std::vector<std::string> applied_functions(const Operator& op);

/// Parses one text; `origin` names it in messages. Throws InputError with the place.
Definitions parse(std::string_view text, const std::string& origin);

}  // namespace rulemill::algebra::syntax
