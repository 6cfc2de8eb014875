// Expands one operator; see expand.h. Its methods are in expander.cc (names, inputs, sizes), expand_index.cc,
// expand_scalar.cc, expand_composite.cc and expand_mapping.cc.
#pragma once

#include <map>

#include "algebra/expansion/expand.h"
#include "algebra/language/lexer.h"
#include "algebra/operators/index_tree.h"
#include "algebra/sizes/checked.h"

namespace rulemill::algebra {

using IndexKind = IndexExpr::Kind;

constexpr std::size_t max_expression_nodes = 10'000;

/// For a difference of sizes, which may be zero, the author declares a size parameter that equals it.
inline constexpr const char* divisor_may_be_zero =
    "this divisor may be zero: divide by sizes, positive numbers and their products; "
    "a size parameter d with 'where d = …' is a size";

class Expander {
 public:
  Expander(const syntax::Operator& op, const Parameters& parameters, const ExpansionContext& context);

  OperatorInstance expand(std::span<const std::uint32_t> ranks);

 private:
  [[noreturn]] void fail(syntax::Place at, const std::string& message) const;

  // ---- names ----

  std::string element_name(const std::string& pack, std::uint32_t position) const;

  void define(const std::string& name, IndexExprPtr value, syntax::Place at);

  const ParameterValue& parameter(const std::string& name, syntax::Place at) const;

  std::uint32_t axis(const std::string& name, syntax::Place at) const;

  const std::vector<std::int64_t>& list_parameter(const std::string& name, syntax::Place at) const;

  bool holds(const syntax::ParameterPredicate& predicate, syntax::Place at) const;

  // ---- inputs and sizes ----

  /// "d = e except axis": makes all dimensions of e except the axis aliases of those of d.
  void alias_equal_dimensions();

  IndexExprPtr size_slot(const std::string& name);

  void bind_inputs();
  std::vector<IndexExprPtr> bind_pack(const syntax::InputDim& dim);

  void bind_size_parameters();
  void bind_symbolic_parameters();
  void bind_let(const syntax::Let& let);

  void expand_condition(const syntax::Condition& condition);

  // ---- index expressions ----

  std::vector<Comparison> expand_comparison(const syntax::Comparison& syntax);
  std::optional<std::uint32_t> pack_length(const syntax::Index& node) const;
  std::uint32_t length_of(const std::string& pack, syntax::Place at) const;
  IndexExprPtr current_pack_element(const syntax::Index& node) const;
  static IndexExprPtr product(const std::vector<IndexExprPtr>& factors);
  IndexExprPtr row_major_offset(const syntax::Index& node) const;
  std::vector<std::uint32_t> axes(const std::string& name, syntax::Place at) const;
  std::vector<IndexExprPtr> expand_over_pack(const syntax::Index& node, std::optional<std::uint32_t> length);
  std::vector<IndexExprPtr> change_axes(const syntax::IndexItem& item, std::vector<IndexExprPtr> elements);
  std::vector<IndexExprPtr> permute(const syntax::IndexItem& item, const std::vector<IndexExprPtr>& elements);
  std::vector<IndexExprPtr> unravel(const syntax::IndexItem& item, const std::vector<IndexExprPtr>& dims);

  /// Throws InputError at the expression on integer overflow.
  IndexExprPtr expand_index(const syntax::Index& node);

  IndexExprPtr resolve(const syntax::Index& node);

  IndexExprPtr resolve_name(const syntax::Index& node) const;

  IndexExprPtr expand_element(const syntax::Index& node);

  IndexExprPtr expand_exact_division(const syntax::Index& node);

  /// Whether the expression is positive for all sizes of at least 1, by its form. A quotient is positive if the
  /// dividend is and a condition states that the divisor divides it.
  bool is_positive(const IndexExpr& expr) const;

  std::vector<IndexExprPtr> expand_items(const std::vector<syntax::IndexItem>& list);

  std::vector<IndexExprPtr> expand_item(const syntax::IndexItem& item);

  // ---- tensors ----

  TensorDefinition expand_tensor(const syntax::Tensor& syntax);

  IndexExprPtr new_index(IndexExprPtr extent);

  ScalarExprPtr expand_scalar(const syntax::Scalar& node);

  ScalarExprPtr expand_read(const syntax::Scalar& node);
  std::vector<IndexExprPtr> drop_broadcast_indices(std::uint32_t tensor, std::vector<IndexExprPtr> indices) const;
  void add_guards(const std::vector<syntax::Comparison>& guards, std::vector<Comparison>& to);

  /// Replaces a bound that depends on an index by its maximum and a condition: p < j + 1 for j < n becomes p < n where
  /// p < j + 1.
  ScalarExprPtr expand_reduction(const syntax::Scalar& node);

  /// The minimum and maximum of an expression over all indices.
  struct Range {
    IndexExprPtr low, high;
  };

  Range find_range(const IndexExpr& expr, syntax::Place at) const;

  /// f(…), where f is a function or a parameter whose enum value names one; the value 'none' is the identity.
  ScalarExprPtr expand_application(const syntax::Scalar& node);

  // ---- composites ----

  struct Inlined {
    std::uint32_t argument;  // numbered as CompositeStep::arguments
    std::uint32_t tensor;    // numbered as ScalarExpr::tensor
    std::vector<IndexExprPtr> dims;
  };

  void inline_composite();

  Inlined inline_call(const syntax::Call& call);

  Inlined inline_instance(const OperatorInstance& inner, const std::vector<Inlined>& arguments,
                          const std::map<std::string, IndexExprPtr>& given_sizes, syntax::Place at);

  // ---- ONNX ----

  OnnxValue expand_onnx_value(const syntax::OnnxValueSyntax& syntax, syntax::Place at);

  void allow_negative_axes(const std::string& parameter, OnnxValue& value) const;
  void expand_onnx_mapping(const syntax::OnnxMappingSyntax& syntax);

  void name_instance(std::span<const std::uint32_t> ranks);

  const syntax::Operator& op_;
  const ExpansionContext& context_;
  OperatorInstance instance_;
  std::map<std::string, std::uint32_t> packs_;
  std::map<std::string, std::uint32_t> lists_;      // lengths of packs of indices, lists and lets
  std::optional<std::uint32_t> position_;           // in the packs of the expression being expanded
  std::vector<std::vector<std::int64_t>> spreads_;  // by input: one of spread_whole, … per dimension
  std::vector<std::uint32_t> pack_starts_;          // by input
  std::map<std::string, std::string> aliases_;
  std::map<std::string, IndexExprPtr> names_;  // sizes, indices, lets, integer parameters; pack elements as "d#0"
  std::vector<std::string> tensor_names_;
  std::vector<std::uint32_t> tensor_ranks_;
  std::uint32_t rank_ = 0;
  std::uint32_t next_index_ = 0;
  std::vector<IndexExprPtr> extents_;  // by index slot
};

}  // namespace rulemill::algebra
