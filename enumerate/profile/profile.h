// The profile of a run: variables with shapes and roles, constants, operators with parameters and restrictions on their
// arguments, limits and the seed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "algebra/execution/domain.h"
#include "algebra/library/library.h"

namespace rulemill::enumerate {

struct Variable {
  std::string place;  // file:line:column of its shape
  std::string name;
  std::vector<std::int64_t> shape;
  std::uint8_t role = 0;  // index into Profile::roles
};

/// One dimension of a shape pattern: a number, "*" (any) or "!n" (any except n).
struct DimPattern {
  enum class Kind : std::uint8_t { Any, Equal, NotEqual };
  Kind kind = Kind::Any;
  std::int64_t value = 0;
};

/// A shape pattern. With `open`, written as a leading "...", it constrains only the last dimensions.
struct ShapePattern {
  bool open = false;
  std::vector<DimPattern> dims;
  bool matches(const std::vector<std::int64_t>& shape) const {
    if (open ? shape.size() < dims.size() : shape.size() != dims.size()) return false;
    const std::size_t skip = shape.size() - dims.size();
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (dims[d].kind == DimPattern::Kind::Equal && shape[skip + d] != dims[d].value) return false;
      if (dims[d].kind == DimPattern::Kind::NotEqual && shape[skip + d] == dims[d].value) return false;
    }
    return true;
  }
};

/// A restriction of an operator's argument.
struct ArgumentRestriction {
  std::string place;                 // file:line:column
  std::optional<std::uint8_t> role;  // the term's role, see Profile::roles
  bool variable = false;             // only variables
  std::vector<ShapePattern> shapes;  // any of these; empty: no restriction
};

/// An operator with fixed parameters. Lists of parameter values in the file are expanded.
struct ProfileOperator {
  std::string place;
  std::string name;
  algebra::Parameters parameters;
  std::vector<std::uint32_t> ranks;                        // allowed ranks of arguments; empty: any
  std::map<std::string, ArgumentRestriction> arguments;    // by input name
  std::map<std::string, std::vector<std::int64_t>> sizes;  // values of size parameters that are not positions
};

/// An operator without arguments, with fixed parameters and sizes.
struct ProfileConstant {
  std::string place;
  std::string name;
  algebra::Parameters parameters;
  std::vector<std::int64_t> sizes;
};

struct Profile {
  static constexpr std::uint32_t max_ops_limit = 8;

  std::string origin;  // the file
  std::string name;
  std::uint64_t seed = 1;
  std::uint32_t max_ops = 3;
  std::uint64_t max_elements = 4096;                // terms with more elements are not enumerated
  algebra::Domain values = algebra::Domain::Field;  // the domain of evaluation
  /// In ascending order. A variable has the role that the profile gives it, a node the highest role of its arguments, a
  /// constant the lowest.
  std::vector<std::string> roles = {"any"};
  std::vector<Variable> variables;
  std::vector<ProfileConstant> constants;
  std::vector<ProfileOperator> operators;
  std::string digest;  // of everything except name, seed and max_ops
};

}  // namespace rulemill::enumerate
