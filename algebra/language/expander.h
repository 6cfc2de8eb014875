// Expands one operator: names become slots, packs become lists, choices are made. Private to the loader: its parts are
// in expand.cc (names, inputs, sizes), expand_index.cc, expand_scalar.cc, expand_composite.cc and expand_mapping.cc.
#pragma once

#include <algorithm>
#include <map>
#include <set>

#include "algebra/language/expand.h"
#include "algebra/language/index_tree.h"
#include "algebra/language/lexer.h"
#include "algebra/sizes/checked.h"

namespace rulemill::algebra {

using IndexKind = IndexExpr::Kind;

constexpr std::size_t largest_expression = 10'000;

class Expander {
 public:
  Expander(const syntax::Operator& op, const Parameters& parameters, const ExpansionContext& context);

  Instance expand(std::span<const std::uint32_t> ranks);

 private:
  [[noreturn]] void fail(syntax::Place at, const std::string& message) const;

  // ---- names ----

  std::string pack_element(const std::string& pack, std::uint32_t position) const;

  void define(const std::string& name, IndexExprPtr value, syntax::Place at);

  const ParameterValue& parameter(const std::string& name, syntax::Place at) const;

  std::uint32_t axis(const std::string& name, syntax::Place at) const;

  const std::vector<std::int64_t>& permutation(const std::string& name, syntax::Place at) const;

  bool chosen(const syntax::Choice& choice, syntax::Place at) const;

  // ---- inputs and sizes ----

  /// "d = e except axis": e's dimensions are d's but for the axis.
  void alias_excepted_dimensions();

  IndexExprPtr size_named(const std::string& name);

  void bind_inputs();
  std::vector<IndexExprPtr> bind_pack(const syntax::InputDim& dim);

  void bind_size_parameters();
  void bind_open_parameters();
  void bind_let(const syntax::Let& let);

  void expand_condition(const syntax::Condition& condition);

  // ---- index expressions ----

  std::vector<Comparison> comparisons(const syntax::Comparison& syntax);
  std::optional<std::uint32_t> pack_length(const syntax::Index& node) const;
  std::uint32_t length_of(const std::string& pack, syntax::Place at) const;
  IndexExprPtr pack_at_position(const syntax::Index& node) const;
  static IndexExprPtr product(const std::vector<IndexExprPtr>& factors);
  IndexExprPtr offset(const syntax::Index& node) const;
  std::vector<std::uint32_t> axes(const std::string& name, syntax::Place at) const;
  std::vector<IndexExprPtr> repeated(const syntax::Index& node, std::optional<std::uint32_t> length);
  std::vector<IndexExprPtr> changed(const syntax::Entry& entry, std::vector<IndexExprPtr> elements);
  std::vector<IndexExprPtr> permuted(const syntax::Entry& entry, const std::vector<IndexExprPtr>& elements);
  std::vector<IndexExprPtr> indices_of(const syntax::Entry& entry, const std::vector<IndexExprPtr>& dims);

  /// Numbers that exceed 64 bits are errors with their place.
  IndexExprPtr index(const syntax::Index& node);

  IndexExprPtr resolved(const syntax::Index& node);

  IndexExprPtr lookup(const syntax::Index& node) const;

  IndexExprPtr element(const syntax::Index& node);

  IndexExprPtr exact_quotient(const syntax::Index& node);

  /// Positive for all sizes of at least 1, by its form. A quotient is positive where its dividend is a size that it
  /// divides.
  bool positive(const IndexExpr& expr) const;

  std::vector<IndexExprPtr> entries(const std::vector<syntax::Entry>& list);

  std::vector<IndexExprPtr> entry_values(const syntax::Entry& entry);

  // ---- tensors ----

  TensorDefinition tensor_definition(const syntax::Tensor& syntax);

  IndexExprPtr new_index(IndexExprPtr extent);

  ScalarExprPtr scalar(const syntax::Scalar& node);

  ScalarExprPtr read(const syntax::Scalar& node);
  std::vector<IndexExprPtr> without_repeated(std::uint32_t tensor, std::vector<IndexExprPtr> indices) const;
  void add_guards(const std::vector<syntax::Comparison>& guards, std::vector<Comparison>& to);

  /// A bound that depends on an index becomes the largest that it can be, and a condition: p < j + 1 for j < n is p < n
  /// where p < j + 1.
  ScalarExprPtr reduction(const syntax::Scalar& node);

  /// The least and the largest that an expression can be where every index is in its range.
  struct Range {
    IndexExprPtr low, high;
  };

  Range range(const IndexExpr& expr, syntax::Place at) const;

  /// f(…) of a function, or of a parameter whose word names one; the word 'none' is the identity.
  ScalarExprPtr application(const syntax::Scalar& node);

  // ---- composites ----

  struct Inlined {
    std::uint32_t number;  // as CompositeStep::arguments count
    std::uint32_t tensor;  // as Read::tensor counts
    std::vector<IndexExprPtr> dims;
  };

  void inline_composite();

  Inlined inline_call(const syntax::Call& call);

  Inlined inline_instance(const Instance& inner, const std::vector<Inlined>& arguments,
                          const std::map<std::string, IndexExprPtr>& given_sizes, syntax::Place at);

  // ---- ONNX ----

  OnnxValue onnx_value(const syntax::OnnxEntry& entry, syntax::Place at);

  void count_axes_from_the_end(const std::string& parameter, OnnxValue& value) const;
  void expand_onnx(const syntax::OnnxSyntax& syntax);

  void name_instance(std::span<const std::uint32_t> ranks);

  const syntax::Operator& op_;
  const ExpansionContext& context_;
  Instance instance_;
  std::map<std::string, std::uint32_t> packs_;
  std::map<std::string, std::uint32_t> lists_;      // lengths of packs of indices, of lists of numbers, of lets
  std::optional<std::uint32_t> position_;           // within the packs of the expression that is being resolved
  std::vector<std::vector<std::int64_t>> spreads_;  // by input: how its pack is repeated, see instance.h
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
