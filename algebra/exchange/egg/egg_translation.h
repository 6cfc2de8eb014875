// Terms in the forms of egg and egglog, with the operators of the definitions:
//
//   (matmul ?a ?b)  (conv2d ?x ?k 2 same)  (conv2d ?x ?k :stride 2)  (transpose ?x (1 0))  (first (split ?x 1))
//   (conv2d 2 same ?x ?k)                      ; parameters first, as TENSAT has them
//   (avg_pool-4-pad.valid ?x 3 2)              ; a constructor of egglog_writer.h
//
// Atoms where a tensor is expected are variables, with or without a question mark. Parameters that follow the tensors
// are in the order of the definition, sizes last; an integer may be a size (?s, (+ m 1)). `shapeR` states dimensions:
// (shape2 ?x m k).
#pragma once

#include <string>

#include "algebra/exchange/egg/egg_statements.h"
#include "algebra/exchange/egg/rule_template.h"
#include "algebra/library/library.h"

namespace rulemill::algebra {

/// Returns the statement's name as an identifier.
std::string rule_name(const EggStatement& statement);

/// Looks up the operators of a rule. Swaps the sides of an undirected rule if only the target has all variables. Throws
/// InputError with file:line:column for an unknown operator, a wrong number of tensors or parameters, a value of the
/// wrong form, a fact that is no condition on sizes, a term within itself, and a target with more variables.
RuleTemplate translate(const EggStatement& statement, const Library& library);

}  // namespace rulemill::algebra
