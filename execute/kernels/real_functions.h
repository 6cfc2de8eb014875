// Functions of real numbers in double precision. They use only operations that IEEE 754 rounds exactly, so that all
// machines and compilers compute the same bits. The error is a few units in the last place of max(|value|, 1).
#pragma once

#include "algebra/operators/function.h"

namespace rulemill::execute {

double real_exp(double x);
double real_log(double x);  // x > 0
double real_tanh(double x);
double real_erf(double x);
double real_sin(double x);
double real_cos(double x);
double real_atan(double x);
double real_asin(double x);  // |x| ≤ 1
/// NaN if undefined.
double real_power(double base, double exponent);

/// Evaluates one operation of a formula, other than arguments and numbers; `b` is the last operand, `a` the one before
/// it in a binary operation. NaN if undefined.
double real_step(algebra::Function::Op op, double a, double b);

}  // namespace rulemill::execute
