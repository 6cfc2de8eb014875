#include "algebra/exchange/taso_table.h"

#include <toml++/toml.h>

#include <algorithm>

#include "runtime/files/atomic_file.h"
#include "runtime/text/error.h"
#include "runtime/text/unknown_name.h"

namespace rulemill::algebra {
namespace {

using runtime::InputError;

class TableReader {
 public:
  TableReader(const std::string& origin, const Library& library) : origin_(origin), library_(library) {}

  std::vector<TasoOperator> read(std::string_view text) const {
    toml::table root;
    try {
      root = toml::parse(text, origin_);
    } catch (const toml::parse_error& error) {
      throw InputError(place(error.source()), std::string(error.description()));
    }
    expect_keys(root, {"operators"});
    const toml::array* list = root["operators"].as_array();
    if (list == nullptr) throw InputError(origin_, "has no [[operators]]");
    std::vector<TasoOperator> operators;
    for (const toml::node& entry : *list) {
      operators.push_back(read_operator(entry));
      const auto same = [&](const TasoOperator& other) { return other.type == operators.back().type; };
      if (std::ranges::count_if(operators, same) > 1)
        fail(entry, "two entries have type " + std::to_string(operators.back().type));
    }
    return operators;
  }

 private:
  std::string place(const toml::source_region& source) const {
    return origin_ + ":" + std::to_string(source.begin.line) + ":" + std::to_string(source.begin.column);
  }
  [[noreturn]] void fail(const toml::node& at, const std::string& message) const {
    throw InputError(place(at.source()), message);
  }

  void expect_keys(const toml::table& table, const std::vector<std::string>& known) const {
    for (const auto& [key, value] : table) {
      const std::string name(key.str());
      if (std::ranges::find(known, name) == known.end()) fail(value, runtime::unknown_name("key", name, known));
    }
  }

  const toml::table& table_of(const toml::node& node, const std::string& what) const {
    if (!node.is_table()) fail(node, what + " is a table");
    return *node.as_table();
  }

  std::int32_t number(const toml::node& node, const std::string& what) const {
    const auto value = node.value_exact<std::int64_t>();
    if (!value || *value < 0 || *value > 1 << 20) fail(node, what + " is a number from 0 on");
    return static_cast<std::int32_t>(*value);
  }

  std::vector<std::int32_t> numbers(const toml::node& node, const std::string& what) const {
    if (!node.is_array()) fail(node, what + " is a list of numbers");
    std::vector<std::int32_t> result;
    for (const toml::node& each : *node.as_array()) result.push_back(number(each, "each of " + what));
    return result;
  }

  std::vector<std::string> words(const toml::node& node, const std::string& what) const {
    if (!node.is_array()) fail(node, what + " is a list of words");
    std::vector<std::string> result;
    for (const toml::node& each : *node.as_array()) {
      const auto word = each.value_exact<std::string>();
      if (!word) fail(each, "each of " + what + " is a word");
      result.push_back(*word);
    }
    return result;
  }

  std::optional<std::int32_t> key(const toml::table& table, const char* name) const {
    const toml::node* node = table.get(name);
    return node == nullptr ? std::nullopt : std::optional(number(*node, name));
  }

  TasoOperator read_operator(const toml::node& entry) const {
    const toml::table& table = table_of(entry, "an entry of operators");
    expect_keys(table, {"type", "operator", "ranks", "rank_key", "count_key", "outputs_key", "fixed", "shape_keys",
                        "ignored", "after", "parameters"});
    TasoOperator result;
    if (!table.contains("type")) fail(entry, "has no type");
    result.type = number(*table.get("type"), "type");
    const auto name = table["operator"].value<std::string>();
    if (!name || !library_.has_operator(*name))
      fail(name ? *table.get("operator") : entry, "names no operator that the definitions have");
    result.name = *name;
    if (const toml::node* ranks = table.get("ranks")) {
      for (const std::int32_t rank : numbers(*ranks, "ranks")) result.ranks.push_back(static_cast<std::uint32_t>(rank));
    }
    result.rank_key = key(table, "rank_key");
    result.count_key = key(table, "count_key");
    result.outputs_key = key(table, "outputs_key");
    if (const toml::node* ignored = table.get("ignored")) result.ignored = numbers(*ignored, "ignored");
    read_tuples(table, result);
    read_post_operators(table, result);
    if (const toml::node* parameters = table.get("parameters")) {
      for (const auto& [parameter, value] : table_of(*parameters, "parameters"))
        result.parameters[std::string(parameter.str())] = read_parameter(std::string(parameter.str()), value, *name);
    }
    return result;
  }

  void read_tuples(const toml::table& table, TasoOperator& result) const {
    const auto tuples = [&](const char* name, std::size_t length) {
      std::vector<std::vector<std::int32_t>> list;
      const toml::node* node = table.get(name);
      if (node == nullptr) return list;
      if (!node->is_array()) fail(*node, std::string(name) + " is a list of lists");
      for (const toml::node& each : *node->as_array()) {
        list.push_back(numbers(each, std::string("an entry of ") + name));
        if (list.back().size() != length) fail(each, "expected " + std::to_string(length) + " numbers");
      }
      return list;
    };
    for (const auto& pair : tuples("fixed", 2)) result.fixed.emplace_back(pair[0], pair[1]);
    for (const auto& triple : tuples("shape_keys", 3))
      result.shape_keys.push_back(
          {triple[0], static_cast<std::uint32_t>(triple[1]), static_cast<std::uint32_t>(triple[2])});
  }

  void read_post_operators(const toml::table& table, TasoOperator& result) const {
    const toml::node* node = table.get("after");
    if (node == nullptr) return;
    const toml::table& after = table_of(*node, "after");
    expect_keys(after, {"key", "operators"});
    result.post_operator_key = key(after, "key");
    if (!result.post_operator_key || !after.contains("operators")) fail(*node, "after has a key and operators");
    result.post_operators = words(*after.get("operators"), "operators");
    for (const std::string& name : result.post_operators) {
      if (!name.empty() && !library_.has_operator(name))
        fail(*node, "'" + name + "' is no operator that the definitions have");
    }
  }

  TasoParameter read_parameter(const std::string& name, const toml::node& node, const std::string& of) const {
    const auto known = library_.parameter_names(of);
    if (std::ranges::find(known, name) == known.end())
      fail(node, "operator '" + of + "' has no parameter '" + name + "'");
    const toml::table& table = table_of(node, "a parameter");
    expect_keys(table, {"keys", "words", "permutation"});
    TasoParameter result;
    if (!table.contains("keys")) fail(node, "a parameter has keys");
    result.keys = numbers(*table.get("keys"), "keys");
    if (result.keys.empty()) fail(node, "a parameter has at least one key");
    if (const toml::node* list = table.get("words")) result.enum_values = words(*list, "words");
    result.permutation = key(table, "permutation");
    return result;
  }

  std::string origin_;
  const Library& library_;
};

}  // namespace

TasoTable TasoTable::load(const std::filesystem::path& path, const Library& library) {
  TasoTable table;
  table.origin_ = path.string();
  table.operators_ = TableReader(table.origin_, library).read(runtime::read_file(path));
  return table;
}

const TasoOperator* TasoTable::find(std::int32_t type) const {
  const auto found = std::ranges::find(operators_, type, &TasoOperator::type);
  return found == operators_.end() ? nullptr : &*found;
}

std::vector<const TasoOperator*> TasoTable::named(const std::string& name) const {
  std::vector<const TasoOperator*> result;
  for (const TasoOperator& each : operators_) {
    if (each.name == name) result.push_back(&each);
  }
  return result;
}

}  // namespace rulemill::algebra
