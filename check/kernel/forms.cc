#include "check/kernel/forms.h"

#include <algorithm>
#include <iterator>

namespace rulemill::check {

using algebra::Rational;

Form times(const Form& form, std::int64_t number) { return form * Form::constant({number, 1}); }
Form plus(const Form& form, std::int64_t number) { return form + Form::constant({number, 1}); }

Form product_of(const Unknowns& unknowns) {
  Form product = Form::constant({1, 1});
  for (const std::string& name : unknowns) product = product * Form::factor(name);
  return product;
}

std::optional<Rational> ratio(const Form& a, const Form& b) {
  if (a.products().empty() || b.products().empty()) return std::nullopt;
  const Rational number = a.products().begin()->second * reciprocal(b.products().begin()->second);
  const Form rest = a + b * Form::constant(number * Rational{-1, 1});
  return rest.products().empty() ? std::optional(number) : std::nullopt;
}

std::optional<Unknowns> lone_factor(const Form& form) {
  for (const auto& each : form.products()) {
    const Unknowns& product = each.first;
    const auto has_factor = [&](const auto& other) { return std::ranges::count(other.first, product[0]) > 0; };
    if (product.size() == 1 && std::ranges::count_if(form.products(), has_factor) == 1) return product;
  }
  return std::nullopt;
}

void spend(std::size_t& work, std::size_t products) {
  constexpr std::size_t limit = 4'000'000;  // about two seconds
  if ((work += products) > limit) throw CheckError{"a case analysis takes too much work"};
}

void eliminate(Form& form, const Form& zero, const Unknowns& key, bool from_products, std::size_t& work) {
  for (;;) {
    spend(work, form.products().size());
    const auto found = std::ranges::find_if(form.products(), [&](const auto& product) {
      return from_products ? std::ranges::includes(product.first, key) : product.first == key;
    });
    if (found == form.products().end()) return;
    Unknowns others;
    std::ranges::set_difference(found->first, key, std::back_inserter(others));
    const Rational scale = found->second * reciprocal(zero.products().at(key)) * Rational{-1, 1};
    form = std::move(form) + zero * Form::constant(scale) * product_of(others);
  }
}

bool are_contradictory(std::vector<Inequality> left, std::size_t& work) {
  constexpr std::size_t max_inequalities = 200;
  while (left.size() <= max_inequalities) {
    std::optional<Unknowns> key;
    for (const auto& [form, strict] : left) {
      const auto number = form.constant();
      if (number && number->num < (strict ? 1 : 0)) return true;
      if (!number) key = form.products().rbegin()->first;
    }
    if (!key) return false;
    std::vector<Inequality> above, below, next;
    for (const auto& [form, strict] : left) {
      const auto found = form.products().find(*key);
      if (found == form.products().end()) {
        next.push_back({form, strict});
        continue;
      }
      const bool adds = found->second.num > 0;
      const Rational scale = reciprocal(found->second) * Rational{adds ? 1 : -1, 1};
      (adds ? above : below).push_back({form * Form::constant(scale), strict});
    }
    for (const Inequality& a : above) {
      for (const Inequality& b : below) next.push_back({a.form + b.form, a.strict || b.strict});
      spend(work, a.form.products().size() * below.size());
    }
    left = std::move(next);
  }
  return false;
}

}  // namespace rulemill::check
