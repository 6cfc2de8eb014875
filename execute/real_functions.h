// Functions of real numbers in double precision, by series of our own: only operations that IEEE 754 rounds exactly
// take part, so that every machine and compiler gives the same bits. Accurate to some units in the last place of the
// larger of the value and 1.
#pragma once

#include "algebra/language/function.h"

namespace rulemill::execute {

double real_exp(double x);
double real_log(double x);  // x > 0
double real_tanh(double x);
double real_erf(double x);
double real_sin(double x);
double real_cos(double x);
double real_atan(double x);
double real_asin(double x);  // |x| ≤ 1
/// NaN where it is undefined.
double real_power(double base, double exponent);

/// One step of a function's formula that is neither an argument nor a number; `b` is the last operand, `a` the one
/// before where there are two. NaN where it is undefined.
double real_step(algebra::Function::Op op, double a, double b);

}  // namespace rulemill::execute
