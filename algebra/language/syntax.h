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

namespace rulemill::algebra::syntax {

struct Place {
  int line = 1;
  int column = 1;
};

struct Index;
using IndexPtr = std::shared_ptr<const Index>;

/// parameter = word, a choice made when an instance is expanded.
struct Choice {
  std::string parameter;
  std::string word;
};

/// An index expression. Exact is a / b, which must divide; Floor is a // b.
struct Index {
  enum class Kind : std::uint8_t { Number, Name, Element, Add, Sub, Mul, Exact, Floor, Mod, Min, Max, If };
  Kind kind = Kind::Number;
  Place place;
  std::int64_t number = 0;
  std::string name;         // Name; Element: the pack
  Choice choice;            // If: a when it holds, b otherwise
  IndexPtr a, b;            // Element: a is the position within the pack
  std::uint32_t depth = 1;  // of the tree
};

struct Comparison {
  Relation relation = Relation::Eq;
  IndexPtr a, b;
};

/// One entry of an index list or a list of dimensions: an expression, or a pack (name...) with at most one change.
struct Entry {
  Place place;
  IndexPtr single;  // unless a pack
  std::string pack;
  std::string with;  // parameter naming the position that `change` replaces
  IndexPtr change;
  std::string gather;   // pack...[perm]: position k holds element perm[k]
  std::string scatter;  // pack... at perm: position perm[k] holds element k
};

struct Scalar;
using ScalarPtr = std::shared_ptr<const Scalar>;

struct Binding {
  std::string name;
  IndexPtr extent;
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
  ScalarPtr body;
};

struct InputDim {
  std::string name;  // empty for a number
  bool is_pack = false;
  std::int64_t number = 0;
  Place place;
};

struct Input {
  std::string name;
  Place place;
  std::vector<InputDim> dims;
};

struct Parameter {
  enum class Kind : std::uint8_t { Size, Sizes, Int, Words, Axis, Permutation };
  Kind kind = Kind::Int;
  std::string name;
  Place place;
  std::vector<std::string> words;
  std::vector<std::int64_t> numbers;  // finite integer domain, may be empty
  std::optional<ParameterValue> default_value;
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
  std::string parameter;  // the value of a permutation or word parameter
};

struct OnnxAttributeSyntax {
  std::string name;
  OnnxEntry value;
  std::optional<std::int64_t> absent;
  std::optional<std::string> absent_word;
  bool absent_any = false;
  bool ignored = false;  // name any: whatever its value
};

struct OnnxSyntax {
  std::string op_type;
  int since = 1;
  int until = 1 << 20;
  bool variadic = false;
  std::string wrapper;                                    // word parameter whose function wraps the result
  std::vector<std::pair<std::string, OnnxEntry>> inputs;  // input name, or "" and a constant
  std::vector<OnnxAttributeSyntax> attributes;
  std::optional<Choice> choice;
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
  std::vector<std::pair<std::string, IndexPtr>> lets;
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
