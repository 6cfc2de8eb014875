// An operator and its parameters from a StableHLO operation: a form of the table, read backwards.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "algebra/exchange/pdl/stablehlo_table.h"
#include "algebra/library/library.h"

namespace rulemill::algebra {

/// The shape of a tensor and the kind of its elements, as far as they are known. A shape is exact if the text states
/// it; otherwise its sizes are names that typing may unify with others.
struct KnownTensor {
  std::optional<Shape> shape = {};
  std::optional<ScalarKind> kind = {};
  bool is_exact = false;
};

/// An operand of the form: an input of the operator.
struct FormInput {
  KnownTensor tensor;
  /// Its dimensions in the result, if the operation broadcasts it; nullopt: it has the result's shape or the form has
  /// no broadcast for it.
  std::optional<std::vector<std::int64_t>> broadcast = {};
};

/// The attributes of an operation as text.
using GivenAttributes = std::map<std::string, std::string>;

struct FormReading {
  std::string parameters = {};      // "axis=1, at=n"
  std::size_t stated_count = 0;     // of parameters that are not at their default
  std::size_t condition_count = 0;  // of the operator's conditions on sizes that the pattern does not state
  KnownTensor result = {};
};

/// What the readings of a pattern share.
struct FormContext {
  Library& library;
  Symbols& symbols;
  std::vector<Poly> zeros = {};  // differences of sizes that the pattern's condition states to be equal
  std::vector<Poly> facts = {};  // differences that it states not to be negative
  std::string reason = {};       // why the last form could not be read

  bool are_equal(const Poly& a, const Poly& b) const;
  bool is_nonnegative(const Poly& poly) const;
};

/// Returns the operator's parameters under which the form is the operation with these attributes, and its result.
/// nullopt, with the reason, if there are none. The result's shape is needed if a form's sizes do not follow from its
/// operands.
std::optional<FormReading> read_form(const StablehloForm& form, const std::vector<FormInput>& inputs,
                                     const KnownTensor& result, const GivenAttributes& attributes,
                                     FormContext& context);

}  // namespace rulemill::algebra
