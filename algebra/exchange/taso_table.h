// What the operator and parameter numbers of TASO's rule files are here: a table read from data/imports/taso.toml,
// which describes its own form.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "algebra/library/library.h"

namespace rulemill::algebra {

/// How one parameter of a definition is read from numbered parameters.
struct TasoParameter {
  std::vector<std::int32_t> keys;           // all of them have the value
  std::vector<std::string> words;           // by value, if the value is a word
  std::optional<std::int32_t> permutation;  // the key that gives the number of axes, if the value is a permutation
};

struct TasoOperator {
  std::int32_t type = 0;
  std::string name;  // of the definition
  std::vector<std::uint32_t> ranks;
  std::optional<std::int32_t> rank_key, count_key, outputs_key, after_key;
  std::vector<std::string> after;  // operator by the value of after_key; empty: none
  std::vector<std::pair<std::int32_t, std::int32_t>> fixed;
  struct ShapeKey {
    std::int32_t key = 0;
    std::uint32_t argument = 0, dimension = 0;
  };
  std::vector<ShapeKey> shape_keys;
  std::vector<std::int32_t> ignored;
  std::map<std::string, TasoParameter> parameters;
};

class TasoTable {
 public:
  /// Throws InputError naming file and line: not TOML, an operator or parameter that the definitions do not have, a
  /// number given twice.
  static TasoTable load(const std::filesystem::path& path, const Library& library);

  const TasoOperator* find(std::int32_t type) const;
  /// The entries whose operator this is.
  std::vector<const TasoOperator*> named(const std::string& name) const;
  const std::string& origin() const { return origin_; }

 private:
  std::string origin_;
  std::vector<TasoOperator> operators_;
};

}  // namespace rulemill::algebra
