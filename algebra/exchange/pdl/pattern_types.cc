#include "algebra/exchange/pdl/pattern_types.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

#include "algebra/exchange/pdl/form_equations.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {
namespace {

constexpr std::uint32_t max_untyped_rank = 4;
constexpr std::size_t max_untyped_variables = 4;
constexpr std::array<std::string_view, 6> float_types = {"f64", "f32", "f16", "bf16", "tf32", "$"};

[[noreturn]] void fail_at(const std::string& place, const std::string& message) {
  throw runtime::InputError(place, message);
}

/// The items between commas that are not in parentheses.
std::vector<std::string> split_items(const std::string& text) {
  std::vector<std::string> items;
  if (text.find_first_not_of(' ') == std::string::npos) return items;
  items.emplace_back();
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth == 0) {
      items.emplace_back();
    } else {
      items.back() += c;
    }
  }
  return items;
}

/// Reads the dimensions of "2x{m}xf32" and returns the element type; "" if it is none.
std::string read_dimensions(const std::string& text, Shape& shape, const std::string& place, Symbols& symbols) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] == '?') fail_at(place, "expected dimensions that are numbers, found the type tensor<" + text + ">");
    std::size_t end = at;
    if (text[at] == '{') {
      end = text.find('}', at);
      if (end == std::string::npos) return "";
      shape.push_back(parse_python_size(text.substr(at + 1, end - at - 1), place, symbols));
      ++end;
    } else {
      while (end < text.size() && end - at < 18 && text[end] >= '0' && text[end] <= '9') ++end;
      if (end == at) return text.substr(at);
      shape.emplace_back(std::stoll(text.substr(at, end - at)));
      if (shape.back().is_zero()) fail_at(place, "a dimension of 0 in the type tensor<" + text + ">");
    }
    if (end >= text.size() || text[end] != 'x') return "";
    at = end + 1;
  }
  return "";
}

/// Reads tensor<2x3xf32>, or "real: m, 3". `element` is the float type of the typing, once one is known.
KnownTensor read_type(const std::string& text, std::string& element, const std::string& place, Symbols& symbols) {
  KnownTensor type{Shape(), std::nullopt, true};
  const auto is_kind = [&](const char* kind) { return text.starts_with(kind); };
  if (is_kind("real:") || is_kind("bool:")) {
    type.kind = is_kind("real:") ? ScalarKind::Real : ScalarKind::Bool;
    for (const std::string& item : split_items(text.substr(5)))
      type.shape->push_back(parse_python_size(item, place, symbols));
    return type;
  }
  const std::string head = "tensor<";
  if (!text.starts_with(head) || !text.ends_with(">"))
    fail_at(place, "expected a type such as tensor<2x3xf32>, found " + text);
  const std::string found =
      read_dimensions(text.substr(head.size(), text.size() - head.size() - 1), *type.shape, place, symbols);
  type.kind = found == "i1" ? ScalarKind::Bool : ScalarKind::Real;
  if (found != "i1" && std::ranges::find(float_types, found) == float_types.end())
    fail_at(place, "expected elements of a float type or i1, found the type " + text);
  if (found != "i1" && found != "$") {
    if (!element.empty() && element != found)
      fail_at(place, "expected one float type, found " + element + " and " + found);
    element = found;
  }
  return type;
}

/// Adds the condition "m < n + 1".
void add_condition(const std::string& text, const std::string& place, PatternTyping& typing, Symbols& symbols) {
  for (const std::string_view sign : {"==", "!=", "<=", "<"}) {
    const std::size_t at = text.find(sign);
    if (at == std::string::npos) continue;
    const Poly left = parse_python_size(text.substr(0, at), place, symbols);
    const Poly right = parse_python_size(text.substr(at + sign.size()), place, symbols);
    if (sign == "==") typing.zeros.push_back(left - right);
    if (sign == "<" || sign == "<=") typing.facts.push_back(right - left - (sign == "<" ? 1 : 0));
    typing.conditions.push_back(symbols.to_string(left) + " " + (sign == "==" ? "=" : std::string(sign)) + " " +
                                symbols.to_string(right));
    return;
  }
  fail_at(place, "expected a comparison of sizes, found " + text);
}

/// Reads the alternatives of rulemill.fits.
class SpecificationReader {
 public:
  SpecificationReader(const PdlPattern& pattern, Symbols& symbols) : pattern_(pattern), symbols_(symbols) {}

  PatternTyping read(const runtime::Json& alternative, PatternTyping typing) {
    typing.is_specified = true;
    std::size_t next = 0;
    for (const runtime::Json& each : list(alternative, "variables")) set_type(typing, node(next++), text(each));
    for (const runtime::Json& each : list(alternative, "operations")) {
      const std::size_t index = node(next++);
      set_type(typing, index, text(member(each, "result")));
      for (const auto& [name, value] : dictionary(each, "attributes").items())
        typing.attributes[index][name] = text(value);
      for (const auto& [name, values] : dictionary(each, "optional").items()) {
        if (!values.is_array() || values.size() != 2) fail("expected two texts for " + name);
        typing.attributes[index].try_emplace(name, text(values[0]));
      }
    }
    if (next != pattern_.specified.size()) fail("expected as many types as arguments");
    for (const runtime::Json& each : list(alternative, "where"))
      add_condition(text(each), pattern_.place, typing, symbols_);
    return typing;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const { fail_at(pattern_.place, "rulemill.fits: " + message); }

  const runtime::Json& member(const runtime::Json& from, const char* name) const {
    if (!from.is_object() || !from.contains(name)) fail(std::string("expected ") + name);
    return from[name];
  }
  const runtime::Json& list(const runtime::Json& from, const char* name) const {
    const runtime::Json& found = member(from, name);
    if (!found.is_array()) fail(std::string("expected a list of ") + name);
    return found;
  }
  const runtime::Json& dictionary(const runtime::Json& from, const char* name) const {
    const runtime::Json& found = member(from, name);
    if (!found.is_object()) fail(std::string("expected a dictionary of ") + name);
    return found;
  }
  std::string text(const runtime::Json& value) const {
    if (!value.is_string()) fail("expected a text in quotes");
    return value.get<std::string>();
  }
  std::size_t node(std::size_t number) const {
    if (number >= pattern_.specified.size()) fail("expected as many types as arguments");
    return pattern_.specified[number];
  }

  void set_type(PatternTyping& typing, std::size_t index, const std::string& text) {
    const PdlNode& node = pattern_.nodes[index];
    KnownTensor& known = node.type ? typing.types[*node.type] : typing.nodes[index];
    KnownTensor type = read_type(text, element_, pattern_.place, symbols_);
    if (known.shape && (*known.shape != *type.shape || known.kind != type.kind))
      fail("%" + node.name + " has two types");
    known = std::move(type);
  }

  const PdlPattern& pattern_;
  Symbols& symbols_;
  std::string element_;
};

}  // namespace

std::vector<PatternTyping> stated_typings(const PdlPattern& pattern, Symbols& symbols) {
  PatternTyping typing;
  typing.nodes.resize(pattern.nodes.size());
  typing.attributes.resize(pattern.nodes.size());
  std::string element;
  for (const std::string& text : pattern.types)
    typing.types.push_back(text.empty() ? KnownTensor() : read_type(text, element, pattern.place, symbols));
  if (pattern.specification.is_null()) return {typing};
  if (!pattern.specification.is_array() || pattern.specification.empty())
    fail_at(pattern.place, "rulemill.fits: expected a list of alternatives");
  std::vector<PatternTyping> result;
  for (const runtime::Json& alternative : pattern.specification)
    result.push_back(SpecificationReader(pattern, symbols).read(alternative, typing));
  return result;
}

std::vector<PatternTyping> with_ranks(const PdlPattern& pattern, const PatternTyping& typing, Symbols& symbols) {
  std::set<std::pair<bool, std::size_t>> unknown;  // of types, and of nodes without a type
  for (std::size_t i = 0; i < pattern.nodes.size(); ++i) {
    const PdlNode& node = pattern.nodes[i];
    if (!node.operation.empty()) continue;
    const KnownTensor& known = node.type ? typing.types[*node.type] : typing.nodes[i];
    if (!known.shape) unknown.emplace(!node.type, node.type.value_or(i));
  }
  if (unknown.size() > max_untyped_variables)
    fail_at(pattern.place, "expected the types of operands: too many are not stated");
  std::vector<PatternTyping> result = {typing};
  std::size_t names = 0;
  for (const auto& [is_node, index] : unknown) {
    std::vector<PatternTyping> next;
    const std::size_t first = names;
    for (const PatternTyping& each : result) {
      for (std::uint32_t rank = 0; rank <= max_untyped_rank; ++rank) {
        next.push_back(each);
        KnownTensor& known = is_node ? next.back().nodes[index] : next.back().types[index];
        known.shape = Shape();
        for (std::uint32_t d = 0; d < rank; ++d)
          known.shape->emplace_back(symbols.size("d" + std::to_string(first + d + 1)));
      }
    }
    names += max_untyped_rank;
    result = std::move(next);
  }
  return result;
}

std::optional<ConstantText> read_constant(const std::string& text, const std::string& place, Symbols& symbols) {
  const std::string head = "dense<", middle = "> : ";
  const std::size_t end = text.find(middle);
  if (!text.starts_with(head) || end == std::string::npos) return std::nullopt;
  ConstantText constant;
  const char* begin = text.data() + head.size();
  const auto [last, error] = std::from_chars(begin, text.data() + end, constant.number);
  if (error != std::errc() || last != text.data() + end) return std::nullopt;
  std::string element;
  constant.type = read_type(text.substr(end + middle.size()), element, place, symbols);
  return constant;
}

}  // namespace rulemill::algebra
