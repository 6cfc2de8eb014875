// A profile is one run's inputs: variables with their shapes and roles, constants, operator instances with the
// restrictions on their arguments, limits and seeds. Read from TOML; every complaint names file:line:column.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
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

/// One dimension of a shape pattern: a number, "*" (any), "!n" (anything else than n).
struct DimPattern {
  enum class Kind : std::uint8_t { Any, Equal, NotEqual };
  Kind kind = Kind::Any;
  std::int64_t value = 0;
};

/// A shape pattern; with `open`, written "..." in front, it speaks of the last dimensions only.
struct ShapePattern {
  bool open = false;
  std::vector<DimPattern> dims;
  bool matches(const std::vector<std::int64_t>& shape) const;
};

/// What an argument may be.
struct ArgumentRule {
  std::string place;                 // file:line:column
  std::optional<std::uint8_t> role;  // the term's role, see Profile::roles
  bool variable = false;             // a variable, not a node
  std::vector<ShapePattern> shapes;  // any of these; empty: no restriction
};

/// One operator with parameters fixed (lists in the file are expanded).
struct OperatorEntry {
  std::string place;
  std::string name;
  algebra::Parameters parameters;
  std::vector<std::uint32_t> ranks;                        // ranks that arguments may have; empty: any
  std::map<std::string, ArgumentRule> arguments;           // by input name
  std::map<std::string, std::vector<std::int64_t>> sizes;  // values of size parameters that are not traced
};

/// A node without arguments.
struct ConstantEntry {
  std::string place;
  std::string name;
  algebra::Parameters parameters;
  std::vector<std::int64_t> sizes;
};

struct Profile {
  static constexpr std::uint32_t largest_max_ops = 8;

  std::string origin;  // the file
  std::string name;
  std::uint64_t seed = 1;
  std::uint32_t max_ops = 3;
  std::uint64_t max_elements = 4096;                // terms with more elements are left out
  algebra::Domain values = algebra::Domain::Field;  // what terms are evaluated over
  /// Weakest first. A variable has the role that the profile gives it, a node the strongest role among its arguments; a
  /// constant has the weakest.
  std::vector<std::string> roles = {"any"};
  std::vector<Variable> variables;
  std::vector<ConstantEntry> constants;
  std::vector<OperatorEntry> operators;
  std::string digest;  // of all that it says but its name, seed and max_ops

  /// Throws InputError with file:line:column.
  static Profile load(const std::filesystem::path& path, const algebra::Library& library);
  static Profile parse(std::string_view text, const std::string& origin, const algebra::Library& library);
};

/// Throws UsageError unless 1 … 8.
void check_max_ops(std::int64_t max_ops);

}  // namespace rulemill::enumerate
