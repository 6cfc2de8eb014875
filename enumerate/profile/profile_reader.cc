#include "enumerate/profile/profile_reader.h"

#include <fmt/format.h>
#include <toml++/toml.h>
#include <algorithm>

#include "algebra/library/library.h"
#include "algebra/sizes/checked.h"
#include "enumerate/profile/profile_components.h"
#include "runtime/files/atomic_file.h"
#include "runtime/text/error.h"
#include "runtime/text/unknown_name.h"

namespace rulemill::enumerate {
namespace {

using runtime::InputError;

constexpr std::size_t max_word_length = 200;  // as in definitions

class Reader {
 public:
  Reader(const std::string& origin, const algebra::Library& library) : origin_(origin), library_(library) {}

  Profile read(std::string_view text) {
    toml::table root;
    try {
      root = toml::parse(text, origin_);
    } catch (const toml::parse_error& error) {
      throw InputError(place(error.source()), std::string(error.description()));
    }
    expect_short_words(root);
    Profile profile;
    profile.origin = origin_;
    expect_keys(root,
                {"name", "seed", "max_ops", "max_elements", "values", "roles", "variables", "constants", "operators"});
    profile.name = text_of(required(root, "name"), "name");
    if (const auto* seed = root.get("seed"))
      profile.seed = static_cast<std::uint64_t>(number(*seed, "seed", 0, INT64_MAX));
    if (const auto* ops = root.get("max_ops"))
      profile.max_ops = static_cast<std::uint32_t>(number(*ops, "max_ops", 1, Profile::max_ops_limit));
    if (const auto* elements = root.get("max_elements"))
      profile.max_elements = static_cast<std::uint64_t>(number(*elements, "max_elements", 1, 1 << 20));
    if (const auto* values = root.get("values")) {
      const std::string word = text_of(*values, "values");
      if (word != "field" && word != "reals")
        fail(*values, "values must be \"field\" or \"reals\", found \"" + word + "\"");
      if (word == "reals") profile.values = algebra::Domain::Reals;
    }
    if (const auto* roles = root.get("roles")) {
      profile.roles.clear();
      for (const toml::node& role : array(*roles, "roles")) profile.roles.push_back(text_of(role, "a role"));
      if (profile.roles.empty() || profile.roles.size() > 8) fail(*roles, "roles must be 1 to 8 words");
    }
    for (const toml::node& entry : array(required(root, "variables"), "variables")) read_variables(entry, profile);
    if (const auto* constants = root.get("constants")) {
      for (const toml::node& entry : array(*constants, "constants")) read_constant(entry, profile);
    }
    for (const toml::node& entry : array(required(root, "operators"), "operators")) read_operator(entry, profile);
    profile.digest = digest_of(profile_components(profile));
    return profile;
  }

 private:
  std::string place(const toml::source_region& region) const {
    return origin_ + ":" + std::to_string(region.begin.line) + ":" + std::to_string(region.begin.column);
  }
  [[noreturn]] void fail(const toml::node& node, const std::string& what) const {
    throw InputError(place(node.source()), what);
  }

  const toml::table& table(const toml::node& node, const std::string& what) const {
    if (const auto* result = node.as_table()) return *result;
    fail(node, what + " must be a table");
  }
  const toml::array& array(const toml::node& node, const std::string& what) const {
    if (const auto* result = node.as_array()) return *result;
    fail(node, what + " must be a list");
  }
  const toml::node& required(const toml::table& parent, const std::string& key) const {
    if (const toml::node* node = parent.get(key)) return *node;
    fail(parent, "'" + key + "' is missing");
  }
  void expect_short_words(const toml::node& node) const {
    const auto expect = [&](std::string_view word, const toml::node& at) {
      if (word.size() > max_word_length)
        fail(at, fmt::format("a word of {} characters; no word has more than {}", word.size(), max_word_length));
    };
    if (const auto* text = node.as_string()) expect(text->get(), node);
    if (const auto* list = node.as_array()) {
      for (const toml::node& item : *list) expect_short_words(item);
    }
    if (const auto* table = node.as_table()) {
      for (const auto& [key, value] : *table) {
        expect(key.str(), value);
        expect_short_words(value);
      }
    }
  }
  std::string text_of(const toml::node& node, const std::string& what) const {
    if (const auto value = node.value_exact<std::string>()) return *value;
    fail(node, what + " must be text in quotes");
  }
  std::int64_t number(const toml::node& node, const std::string& what, std::int64_t low, std::int64_t high) const {
    const auto value = node.value_exact<std::int64_t>();
    const std::string range =
        what + " must be a whole number from " + std::to_string(low) + " to " + std::to_string(high);
    if (!value) fail(node, range);
    if (*value < low || *value > high) fail(node, fmt::format("{}, found {}", range, *value));
    return *value;
  }
  void expect_keys(const toml::table& parent, const std::vector<std::string>& known) const {
    for (const auto& [key, value] : parent) {
      const std::string name(key.str());
      if (std::ranges::find(known, name) != known.end()) continue;
      throw InputError(place(key.source()), runtime::unknown_name("key", name, known));
    }
  }

  std::vector<std::int64_t> dims(const toml::node& node, const std::string& what) const {
    std::vector<std::int64_t> result;
    for (const toml::node& dim : array(node, what)) result.push_back(number(dim, "a dimension", 1, 1 << 20));
    return result;
  }

  std::uint8_t role(const toml::node& node, const Profile& profile) const {
    const std::string word = text_of(node, "role");
    const auto found = std::ranges::find(profile.roles, word);
    if (found == profile.roles.end()) fail(node, runtime::unknown_name("role", word, profile.roles));
    return static_cast<std::uint8_t>(found - profile.roles.begin());
  }

  void read_variables(const toml::node& node, Profile& profile) const {
    const toml::table& entry = table(node, "an entry of variables");
    expect_keys(entry, {"names", "shape", "role"});
    Variable variable;
    variable.place = place(required(entry, "shape").source());
    variable.shape = dims(required(entry, "shape"), "shape");
    std::int64_t elements = 0;
    try {
      elements = algebra::element_count(variable.shape);
    } catch (const algebra::Overflow& overflow) {
      fail(*entry.get("shape"), overflow.what());
    }
    if (static_cast<std::uint64_t>(elements) > profile.max_elements)
      fail(*entry.get("shape"),
           fmt::format("{} elements are more than max_elements = {}", elements, profile.max_elements));
    if (const auto* word = entry.get("role")) variable.role = role(*word, profile);
    for (const toml::node& name : array(required(entry, "names"), "names")) {
      variable.name = text_of(name, "a variable's name");
      const bool word = !variable.name.empty() && !std::isdigit(static_cast<unsigned char>(variable.name[0])) &&
                        std::ranges::all_of(variable.name, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
      if (!word) fail(name, "a variable's name is letters, digits and '_', found '" + variable.name + "'");
      for (const Variable& other : profile.variables) {
        if (other.name == variable.name) fail(name, "variable '" + variable.name + "' is declared twice");
      }
      profile.variables.push_back(variable);
    }
  }

  std::string operator_name(const toml::table& entry) const {
    const toml::node& node = required(entry, "operator");
    const std::string name = text_of(node, "operator");
    if (!library_.has_operator(name)) fail(node, algebra::unknown_operator(name, library_.operator_names()));
    return name;
  }

  algebra::ParameterValue parameter_value(const toml::node& node) const {
    if (const auto value = node.value_exact<std::int64_t>()) return *value;
    if (const auto value = node.value_exact<std::string>()) return *value;
    if (const auto* list = node.as_array()) {
      std::vector<std::int64_t> permutation;
      for (const toml::node& item : *list) permutation.push_back(number(item, "an axis", 0, 15));
      return permutation;
    }
    fail(node, "a parameter's value is a whole number, a word, or a permutation");
  }

  /// Returns every combination of parameter values. A list in the profile contains alternatives.
  std::vector<algebra::Parameters> combinations(const toml::table& entry, const std::string& name) const {
    std::vector<algebra::Parameters> result(1);
    const toml::node* node = entry.get("parameters");
    if (node == nullptr) return result;
    const std::vector<std::string> known = library_.parameter_names(name);
    const toml::table& given = table(*node, "parameters");
    expect_keys(given, known);
    for (const std::string& key : known) {
      const toml::node* value = given.get(key);
      if (value == nullptr) continue;
      std::vector<algebra::ParameterValue> alternatives;
      if (const auto* list = value->as_array()) {
        for (const toml::node& item : *list) alternatives.push_back(parameter_value(item));
        if (alternatives.empty()) fail(*value, "a list of alternatives must not be empty");
      } else {
        alternatives.push_back(parameter_value(*value));
      }
      std::vector<algebra::Parameters> longer;
      for (const algebra::Parameters& parameters : result) {
        for (const algebra::ParameterValue& alternative : alternatives) {
          longer.push_back(parameters);
          longer.back()[key] = alternative;
        }
      }
      result = std::move(longer);
    }
    return result;
  }

  void read_constant(const toml::node& node, Profile& profile) const {
    const toml::table& entry = table(node, "an entry of constants");
    expect_keys(entry, {"operator", "parameters", "sizes"});
    ProfileConstant constant;
    constant.place = place(node.source());
    constant.name = operator_name(entry);
    if (library_.arity(constant.name) != 0)
      fail(node, "operator '" + constant.name + "' takes inputs: it is no constant");
    if (const auto* sizes = entry.get("sizes")) constant.sizes = dims(*sizes, "sizes");
    for (const algebra::Parameters& parameters : combinations(entry, constant.name)) {
      constant.parameters = parameters;
      profile.constants.push_back(constant);
    }
  }

  ShapePattern shape_pattern(const toml::node& node) const {
    ShapePattern pattern;
    const toml::array& items = array(node, "a shape pattern");
    for (std::size_t i = 0; i < items.size(); ++i) {
      const toml::node& item = items[i];
      if (const auto value = item.value_exact<std::int64_t>()) {
        pattern.dims.push_back({DimPattern::Kind::Equal, number(item, "a dimension", 1, 1 << 20)});
        continue;
      }
      const std::string word = text_of(item, "a dimension of a pattern");
      if (word == "*") {
        pattern.dims.push_back({});
      } else if (word == "..." && i == 0) {
        pattern.open = true;
      } else if (word.size() > 1 && word.size() < 8 && word[0] == '!' &&
                 std::ranges::all_of(word.substr(1), [](unsigned char c) { return std::isdigit(c); })) {
        pattern.dims.push_back({DimPattern::Kind::NotEqual, std::stoll(word.substr(1))});
      } else {
        fail(item, "a pattern's dimension is a number, \"*\", \"!n\", or \"...\" in front, found \"" + word + "\"");
      }
    }
    return pattern;
  }

  ArgumentRestriction argument_rule(const toml::node& node, const Profile& profile) const {
    const toml::table& entry = table(node, "an argument's restriction");
    expect_keys(entry, {"role", "variable", "shapes"});
    ArgumentRestriction rule;
    rule.place = place(node.source());
    if (const auto* word = entry.get("role")) rule.role = role(*word, profile);
    if (const auto* variable = entry.get("variable")) {
      const auto value = variable->value_exact<bool>();
      if (!value) fail(*variable, "variable must be true or false");
      rule.variable = *value;
    }
    if (const auto* shapes = entry.get("shapes")) {
      for (const toml::node& pattern : array(*shapes, "shapes")) rule.shapes.push_back(shape_pattern(pattern));
    }
    return rule;
  }

  void read_operator(const toml::node& node, Profile& profile) const {
    const toml::table& entry = table(node, "an entry of operators");
    expect_keys(entry, {"operator", "parameters", "ranks", "arguments", "sizes"});
    ProfileOperator made;
    made.place = place(node.source());
    made.name = operator_name(entry);
    if (library_.arity(made.name) == 0)
      fail(node, "operator '" + made.name + "' takes no inputs: list it in constants");
    if (const auto* ranks = entry.get("ranks")) {
      for (const toml::node& rank : array(*ranks, "ranks"))
        made.ranks.push_back(static_cast<std::uint32_t>(number(rank, "a rank", 0, 8)));
    }
    if (const auto* arguments = entry.get("arguments")) {
      for (const auto& [key, value] : table(*arguments, "arguments"))
        made.arguments[std::string(key.str())] = argument_rule(value, profile);
    }
    if (const auto* sizes = entry.get("sizes")) {
      const toml::table& given = table(*sizes, "sizes");
      expect_keys(given, library_.size_parameter_names(made.name));
      for (const auto& [key, value] : given) made.sizes[std::string(key.str())] = dims(value, "sizes");
    }
    for (const algebra::Parameters& parameters : combinations(entry, made.name)) {
      made.parameters = parameters;
      profile.operators.push_back(made);
    }
  }

  const std::string& origin_;
  const algebra::Library& library_;
};

constexpr int max_depth = 64;

/// Deeply nested brackets, braces and dotted keys would overflow the stack of recursive readers.
void check_depth(std::string_view text, const std::string& origin) {
  int depth = 0, dots = 0, line = 1;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      ++line;
      quote = 0;
    }
    if (c == '\\' && quote == '"') ++i;
    if (quote != 0 || c == '"' || c == '\'') {
      quote = quote == 0 ? c : c == quote ? '\0' : quote;
      continue;
    }
    if (c == '#') i = std::min(text.size(), text.find('\n', i)) - 1;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    dots = c == '.' ? dots + 1 : std::string_view("=,[]{}\n").find(c) == std::string_view::npos ? dots : 0;
    if (std::max(depth, dots) > max_depth)
      throw InputError(origin + ":" + std::to_string(line), fmt::format("is nested more than {} deep", max_depth));
  }
}

}  // namespace

Profile parse_profile(std::string_view text, const std::string& origin, const algebra::Library& library) {
  check_depth(text, origin);
  return Reader(origin, library).read(text);
}

Profile load_profile(const std::filesystem::path& path, const algebra::Library& library) {
  return parse_profile(runtime::read_file(path), path.string(), library);
}

}  // namespace rulemill::enumerate
