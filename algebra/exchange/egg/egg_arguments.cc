#include "algebra/exchange/egg/egg_arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <span>

#include "algebra/exchange/egg/size_expression.h"
#include "algebra/exchange/readings.h"
#include "algebra/language/lexer.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {
namespace {

std::vector<std::string> split_text(std::string_view text, char separator) {
  std::vector<std::string> result{""};
  for (const char c : text) {
    if (c == separator) {
      result.emplace_back();
    } else {
      result.back() += c;
    }
  }
  return result;
}

bool is_list_kind(ParameterKind kind) {
  return kind == ParameterKind::Ints || kind == ParameterKind::Axes || kind == ParameterKind::NewAxes ||
         kind == ParameterKind::Permutation || kind == ParameterKind::Spread || kind == ParameterKind::Sizes;
}

bool is_identifier(std::string_view text) {
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
         std::ranges::all_of(text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
}

/// Whether an argument is a number or a list of numbers.
bool is_literal(const SExpression& argument) {
  if (argument.is_list()) return !argument.items.empty() && is_integer(argument.items[0].text);
  const std::vector<std::string> numbers = split_text(argument.text, '_');
  return std::ranges::all_of(numbers, is_integer);
}

class ArgumentReader {
 public:
  ArgumentReader(const SExpression& call, const std::string& origin, const Library& library,
                 const std::function<std::string(const std::string&)>& size_name)
      : call_(call), origin_(origin), library_(library), size_name_(size_name), op_(operator_of(call)) {}

  EggArguments read() {
    const bool is_constructor = call_.head().size() > op_.size();
    std::vector<const SExpression*> positional = read_named();
    const std::size_t arity = library_.arity(op_);
    if (positional.size() < arity)
      fail(call_, fmt::format("operator '{}' takes {} tensor{}, found {}", op_, arity, arity == 1 ? "" : "s",
                              positional.size()));
    const auto count = static_cast<std::ptrdiff_t>(arity);
    const bool parameters_first =
        !is_constructor && std::any_of(positional.begin(), positional.begin() + count,
                                       [&](const SExpression* argument) { return is_value(*argument); });
    const auto first = parameters_first ? positional.end() - count : positional.begin();
    result_.tensors.assign(first, first + count);
    positional.erase(first, first + count);
    if (is_constructor) {
      read_constructor();
      add_numbers_of_constructor(positional);
    } else {
      add_positional(positional);
    }
    result_.parameters = fmt::format("{}", fmt::join(parameters_, ", "));
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(const SExpression& at, const std::string& message) const {
    throw runtime::InputError(place(origin_, at.line, at.column), message);
  }

  /// Whether an argument is a number, a list of numbers, or a word that a parameter can be, and so no tensor.
  bool is_value(const SExpression& argument) const {
    if (is_literal(argument)) return true;
    const std::uint32_t any_rank[] = {0};
    return std::ranges::any_of(library_.parameter_names(op_), [&](const std::string& name) {
      if (library_.parameter_kind(op_, name) != ParameterKind::Enum) return false;
      const std::vector<ParameterValue> values = library_.domain(op_, name, any_rank);
      return std::ranges::find(values, ParameterValue(argument.text)) != values.end();
    });
  }

  /// Reads the parameters of the form `:stride 2`. Returns the other arguments.
  std::vector<const SExpression*> read_named() {
    std::vector<const SExpression*> others;
    for (std::size_t i = 1; i < call_.items.size(); ++i) {
      const SExpression& argument = call_.items[i];
      if (!argument.is_atom() || !argument.text.starts_with(':')) {
        others.push_back(&argument);
        continue;
      }
      const std::string name = argument.text.substr(1);
      if (!is_parameter(name)) fail(argument, fmt::format("operator '{}' has no parameter '{}'", op_, name));
      if (++i == call_.items.size()) fail(argument, fmt::format("expected a value after {}", argument.text));
      add(name, call_.items[i]);
    }
    return others;
  }

  bool is_parameter(const std::string& name) const {
    const auto names = library_.parameter_names(op_), sizes = library_.size_parameter_names(op_);
    return std::ranges::find(names, name) != names.end() || std::ranges::find(sizes, name) != sizes.end() ||
           std::ranges::find(sizes, name + "...") != sizes.end();
  }

  void add(const std::string& name, const SExpression& value) {
    if (!given_.insert(name).second) fail(value, fmt::format("parameter '{}' has two values", name));
    const ParameterKind kind = library_.parameter_kind(op_, name);
    parameters_.push_back(name + "=" + value_text(kind, value));
    result_.states_sizes = result_.states_sizes || kind == ParameterKind::Sizes;
  }

  std::string value_text(ParameterKind kind, const SExpression& value) const {
    if (is_list_kind(kind)) return "[" + list_text(kind, value) + "]";
    if (kind == ParameterKind::Enum) {
      if (!value.is_atom() || !is_identifier(value.text)) fail(value, "expected a word, found " + to_string(value));
      return value.text;
    }
    return number_text(kind, value);
  }

  /// A number; a size where the parameter may be one.
  std::string number_text(ParameterKind kind, const SExpression& value) const {
    const bool can_be_size = kind == ParameterKind::Size || kind == ParameterKind::Sizes ||
                             kind == ParameterKind::Int || kind == ParameterKind::Ints;
    if (!can_be_size && !(value.is_atom() && is_integer(value.text)))
      fail(value, "expected a number, found " + to_string(value));
    if (value.is_atom() && value.text == "?") return "?";
    return size_text(value, origin_, size_name_);
  }

  /// (1 0), [1 0], 1_0 or a single number.
  std::string list_text(ParameterKind kind, const SExpression& value) const {
    std::vector<std::string> numbers;
    if (value.is_list() && !is_size_expression(value)) {
      for (const SExpression& item : value.items) numbers.push_back(number_text(kind, item));
    } else if (value.is_atom() && is_literal(value)) {
      numbers = split_text(value.text, '_');
    } else {
      numbers.push_back(number_text(kind, value));
    }
    return fmt::format("{}", fmt::join(numbers, ", "));
  }

  /// Parameters in the order of the definition, sizes last. A list of sizes takes all that are left.
  void add_positional(std::span<const SExpression* const> values) {
    std::vector<std::string> names = library_.parameter_names(op_);
    for (const std::string& size : library_.size_parameter_names(op_)) names.push_back(size);
    for (const std::string& name : names) {
      if (values.empty()) return;
      if (name.ends_with("...")) {
        add_list(name.substr(0, name.size() - 3), values);
        return;
      }
      if (given_.contains(name)) continue;
      add(name, *values[0]);
      values = values.subspan(1);
    }
    if (!values.empty())
      fail(*values[0], fmt::format("operator '{}' has no parameter for {}", op_, to_string(*values[0])));
  }

  /// A list parameter whose numbers are arguments of their own; or one argument that is a list.
  void add_list(const std::string& name, std::span<const SExpression* const> values) {
    if (values.size() == 1 && values[0]->is_list()) return add(name, *values[0]);
    SExpression list{SExpression::Kind::List, "", {}, call_.line, call_.column};
    for (const SExpression* value : values) list.items.push_back(*value);
    if (!list.items.empty() && is_size_expression(list)) fail(call_, "expected a list of sizes");
    add(name, list);
  }

  /// NAME-RANKS-PARAMETER.VALUE-OUTPUT
  void read_constructor() {
    const std::vector<std::string> parts = split_text(call_.items[0].text, '-');
    const std::size_t rank_count = std::max<std::size_t>(library_.arity(op_), 1);
    constexpr std::size_t max_rank_digits = 2;
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const std::size_t dot = parts[i].find('.');
      if (i <= rank_count) {
        if (!is_integer(parts[i]) || parts[i].size() > max_rank_digits)
          fail(call_, fmt::format("expected {} rank{} after '{}-'", rank_count, rank_count == 1 ? "" : "s", op_));
        if (!result_.tensors.empty()) result_.ranks.push_back(static_cast<std::uint32_t>(std::stoul(parts[i])));
      } else if (dot == std::string::npos) {
        result_.output = parts[i];
      } else {
        add_part(parts[i].substr(0, dot), parts[i].substr(dot + 1));
      }
    }
    if (parts.size() <= rank_count) fail(call_, fmt::format("'{}' lacks a rank", call_.head()));
    if (!result_.output.empty() && !is_identifier(result_.output))
      fail(call_, fmt::format("'{}' has no output '{}'", op_, result_.output));
  }

  /// A parameter in a constructor's name: axis.1, pad.valid, perm.1.0, left. (an empty list)
  void add_part(const std::string& name, const std::string& value) {
    if (!is_parameter(name)) fail(call_, fmt::format("operator '{}' has no parameter '{}'", op_, name));
    SExpression whole{SExpression::Kind::Atom, value, {}, call_.line, call_.column};
    if (is_list_kind(library_.parameter_kind(op_, name))) {
      SExpression list{SExpression::Kind::List, "", {}, call_.line, call_.column};
      for (const std::string& number : value.empty() ? std::vector<std::string>{} : split_text(value, '.'))
        list.items.push_back({SExpression::Kind::Atom, number, {}, call_.line, call_.column});
      whole = std::move(list);
    }
    add(name, whole);
  }

  /// The integer parameters that the name lacks, by name; then the sizes.
  void add_numbers_of_constructor(std::span<const SExpression* const> values) {
    std::vector<std::string> names = library_.parameter_names(op_);
    std::ranges::sort(names);
    std::erase_if(names, [&](const std::string& name) {
      const ParameterKind kind = library_.parameter_kind(op_, name);
      return given_.contains(name) || (kind != ParameterKind::Int && kind != ParameterKind::Ints);
    });
    for (const std::string& size : library_.size_parameter_names(op_)) names.push_back(size);
    for (const std::string& name : names) {
      const std::size_t count = name.ends_with("...") ? values.size() : number_count(name);
      if (values.size() < count)
        fail(call_, fmt::format("'{}' lacks numbers for its parameter '{}'", call_.head(), name));
      if (name.ends_with("...")) {
        add_list(name.substr(0, name.size() - 3), values);
      } else if (is_list_kind(library_.parameter_kind(op_, name))) {
        add_list(name, values.subspan(0, count));
      } else {
        add(name, *values[0]);
      }
      values = values.subspan(count);
    }
    if (!values.empty()) fail(*values[0], fmt::format("'{}' has no parameter for it", call_.head()));
  }

  /// How many numbers a parameter of a constructor has.
  std::size_t number_count(const std::string& name) const {
    if (!is_list_kind(library_.parameter_kind(op_, name))) return 1;
    try {
      return library_.pack_length(op_, result_.ranks, {}, library_.parameter_pack(op_, name));
    } catch (const runtime::InputError& error) {
      fail(call_, without_place(error));
    }
  }

  const SExpression& call_;
  const std::string& origin_;
  const Library& library_;
  const std::function<std::string(const std::string&)>& size_name_;
  std::string op_;
  EggArguments result_;
  std::vector<std::string> parameters_;
  std::set<std::string> given_;
};

}  // namespace

std::string operator_of(const SExpression& call) {
  const std::string_view head = call.head();
  return std::string(head.substr(0, head.find('-')));
}

EggArguments arguments_of(const SExpression& call, const std::string& origin, const Library& library,
                          const std::function<std::string(const std::string&)>& size_name) {
  return ArgumentReader(call, origin, library, size_name).read();
}

}  // namespace rulemill::algebra
