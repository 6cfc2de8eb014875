// Polynomials in unknowns, and inequalities between them.
#pragma once

#include "algebra/properties/sum_of_products.h"

namespace rulemill::check {

using Form = algebra::SumOfProducts;
using Unknowns = std::vector<std::string>;  // sorted

Form times(const Form& form, std::int64_t number);
Form plus(const Form& form, std::int64_t number);
Form product_of(const Unknowns& unknowns);
/// a / b, if it is a number.
std::optional<algebra::Rational> ratio(const Form& a, const Form& b);
/// A single factor of a form that no other of its products has, or nothing.
std::optional<Unknowns> lone_factor(const Form& form);
/// Adds to the work of a case analysis, which is counted in products. Throws CheckError beyond the limit.
void spend(std::size_t& work, std::size_t products);
/// Removes the product `key` of a form that is 0 from the form, or from all its products.
void eliminate(Form& form, const Form& zero, const Unknowns& key, bool from_products, std::size_t& work);

/// A form that is positive, or, if not strict, at least 0.
struct Inequality {
  Form form;
  bool strict = true;
};
/// True if no values satisfy all inequalities, by Fourier-Motzkin elimination. Each product of unknowns is an unknown
/// of its own.
bool are_contradictory(std::vector<Inequality> left, std::size_t& work);

}  // namespace rulemill::check
