#include "algebra/exchange/pdl/form_expression.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <utility>

#include "algebra/exchange/python_expression.h"
#include "algebra/operators/operator_instance.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {
namespace {

FormValue number_value(Poly number) { return {false, false, {std::move(number)}}; }

FormValue iota(std::size_t count) {
  FormValue result{true, false, {}};
  for (std::size_t i = 0; i < count; ++i) result.items.emplace_back(static_cast<std::int64_t>(i));
  return result;
}

class ExpressionReader {
 public:
  ExpressionReader(const std::string& text, const FormNames& names, Symbols& symbols, const std::string& place)
      : text_(text), names_(names), symbols_(symbols), place_(place) {}

  FormValue read() {
    FormValue result = sum();
    if (peek() != '\0') fail("expected the end of '" + text_ + "'");
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const { throw runtime::InputError(place_, message); }

  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool accept(const std::string& token) {
    if (peek() == '\0' || text_.compare(at_, token.size(), token) != 0) return false;
    at_ += token.size();
    return true;
  }

  void expect(const std::string& token) {
    if (!accept(token)) fail("expected '" + token + "' in '" + text_ + "'");
  }

  FormValue combine(const FormValue& a, const FormValue& b, const std::function<Poly(const Poly&, const Poly&)>& of) {
    if (a.is_list && b.is_list && a.items.size() != b.items.size())
      fail("lists of different lengths in '" + text_ + "'");
    FormValue result{a.is_list || b.is_list, false, {}};
    const std::size_t count = a.is_list ? a.items.size() : b.items.size();
    for (std::size_t i = 0; i < count; ++i)
      result.items.push_back(of(a.items[a.is_list ? i : 0], b.items[b.is_list ? i : 0]));
    return result;
  }

  FormValue sum() {
    FormValue result = product();
    while (true) {
      if (accept("+")) {
        result = combine(result, product(), [](const Poly& a, const Poly& b) { return a + b; });
      } else if (accept("-")) {
        result = combine(result, product(), [](const Poly& a, const Poly& b) { return a - b; });
      } else {
        return result;
      }
    }
  }

  FormValue product() {
    FormValue result = atom();
    while (true) {
      if (accept("*")) {
        result = combine(result, atom(), [](const Poly& a, const Poly& b) { return a * b; });
      } else if (accept("//")) {
        result = combine(result, atom(), [&](const Poly& a, const Poly& b) { return symbols_.floor_div(a, b); });
      } else {
        return result;
      }
    }
  }

  FormValue atom() {
    if (accept("(")) {
      FormValue result = sum();
      expect(")");
      return result;
    }
    if (accept("[")) {
      FormValue result{true, false, {}};
      while (!accept("]")) {
        if (!result.items.empty()) expect(",");
        result.items.push_back(number(sum()));
      }
      return result;
    }
    const std::size_t begin = (peek(), at_);
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    const std::string word = text_.substr(begin, at_ - begin);
    if (word.empty()) fail("expected a number, a name or a list in '" + text_ + "'");
    if (std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0; }) && word.size() < 10)
      return number_value(Poly(std::stoll(word)));
    if (accept("(")) return call(word);
    const auto found = names_.find(word);
    if (found == names_.end()) fail("'" + word + "' in '" + text_ + "' is no input, size or parameter of the operator");
    return found->second;
  }

  Poly number(const FormValue& value) {
    if (value.is_list) fail("expected a number instead of a list in '" + text_ + "'");
    return value.items[0];
  }

  std::size_t count(const FormValue& value, std::size_t end) {
    const auto found = number(value).constant();
    if (!found || *found < 0 || static_cast<std::size_t>(*found) >= end)
      fail("a number is out of range in '" + text_ + "'");
    return static_cast<std::size_t>(*found);
  }

  FormValue call(const std::string& function) {
    std::vector<FormValue> given;
    while (!accept(")")) {
      if (!given.empty()) expect(",");
      given.push_back(sum());
    }
    static const std::map<std::string, std::size_t> arity = {{"rank", 1}, {"iota", 1}, {"uniform", 2},
                                                             {"set", 3},  {"kept", 1}, {"pairs", 2}};
    const auto known = arity.find(function);
    if (known == arity.end() || known->second != given.size())
      fail("expected rank(list), iota(n), uniform(list, n), set(list, axis, n), kept(spread) or pairs(a, b) in '" +
           text_ + "'");
    if (function != "iota" && !given[0].is_list)
      fail("expected a list as the first argument of " + function + " in '" + text_ + "'");
    FormValue& first = given[0];
    if (function == "rank") return number_value(Poly(static_cast<std::int64_t>(first.items.size())));
    if (function == "iota") return iota(count(first, 64));
    if (function == "kept") return kept(first);
    if (function == "uniform") {
      std::ranges::fill(first.items, number(given[1]));
      return first;
    }
    if (function == "set") {
      first.items[count(given[1], first.items.size())] = number(given[2]);
      return first;
    }
    FormValue result{true, true, {}};
    if (!given[1].is_list || given[1].items.size() != first.items.size())
      fail("lists of different lengths in '" + text_ + "'");
    for (std::size_t i = 0; i < first.items.size(); ++i) {
      result.items.push_back(first.items[i]);
      result.items.push_back(given[1].items[i]);
    }
    return result;
  }

  /// An empty spread means that the input has all dimensions.
  FormValue kept(const FormValue& spread) {
    if (spread.items.empty()) return iota(names_.at("result").items.size());
    FormValue result{true, false, {}};
    for (std::size_t i = 0; i < spread.items.size(); ++i) {
      if (spread.items[i] != Poly(spread_absent)) result.items.emplace_back(static_cast<std::int64_t>(i));
    }
    return result;
  }

  const std::string& text_;
  const FormNames& names_;
  Symbols& symbols_;
  const std::string& place_;
  std::size_t at_ = 0;
};

std::string item_text(const Poly& item, const Symbols& symbols) {
  return item.constant() ? std::to_string(*item.constant()) : "{" + python_expression(item, symbols) + "}";
}

}  // namespace

FormValue evaluate_form(const std::string& expression, const FormNames& names, Symbols& symbols,
                        const std::string& place) {
  return ExpressionReader(expression, names, symbols, place).read();
}

std::string fill_template(const std::string& text, const FormNames& names, Symbols& symbols, const std::string& place) {
  std::string result;
  std::size_t at = 0;
  while (true) {
    const std::size_t open = text.find('{', at), close = text.find('}', at);
    result += text.substr(at, open == std::string::npos ? open : open - at);
    if (open == std::string::npos) return result;
    if (close == std::string::npos) throw runtime::InputError(place, "expected '}' in '" + text + "'");
    const FormValue value = evaluate_form(text.substr(open + 1, close - open - 1), names, symbols, place);
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      const bool begins = value.in_pairs && i % 2 == 0, ends = value.in_pairs && i % 2 == 1;
      result += (i == 0 ? "" : ", ") + std::string(begins ? "[" : "") + item_text(value.items[i], symbols) +
                (ends ? "]" : "");
    }
    // MLIR writes an empty array without a colon.
    if (value.is_list && value.items.empty() && result.ends_with(": ")) result.resize(result.size() - 2);
    at = close + 1;
  }
}

}  // namespace rulemill::algebra
