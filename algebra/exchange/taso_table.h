// The mapping of TASO's operator and parameter numbers to definitions: read from data/imports/taso.toml, which
// documents its format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "algebra/library/library.h"

namespace rulemill::algebra {

/// The encoding of one parameter of a definition in numbered parameters.
struct TasoParameter {
  std::vector<std::int32_t> keys;           // all of them have the value
  std::vector<std::string> enum_values;     // by number, for an enum parameter
  std::optional<std::int32_t> permutation;  // for a permutation: the key of its number of axes
};

struct TasoOperator {
  std::int32_t type = 0;
  std::string name;  // of the definition
  std::vector<std::uint32_t> ranks;
  std::optional<std::int32_t> rank_key, count_key, outputs_key, post_operator_key;
  std::vector<std::string> post_operators;  // applied to the result, by the value of post_operator_key; empty: none
  std::vector<std::pair<std::int32_t, std::int32_t>> fixed;
  struct ShapeKey {
    std::int32_t key = 0;
    std::uint32_t argument = 0, dimension = 0;
  };
  std::vector<ShapeKey> shape_keys;
  std::vector<std::int32_t> ignored;
  std::map<std::string, TasoParameter> parameters;
};

/// The mapping of all operators.
class TasoTable {
 public:
  /// Throws InputError with file and line: invalid TOML, an operator or parameter that the definitions lack, a
  /// duplicate number.
  static TasoTable load(const std::filesystem::path& path, const Library& library);

  const TasoOperator* find(std::int32_t type) const;
  /// The entries of this operator.
  std::vector<const TasoOperator*> named(const std::string& name) const;
  const std::string& origin() const { return origin_; }

 private:
  std::string origin_;
  std::vector<TasoOperator> operators_;
};

}  // namespace rulemill::algebra
