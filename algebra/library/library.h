// The operators and scalar functions of a run, loaded from definition files, and their instances, expanded on demand.
#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algebra/language/generic_onnx_mapping.h"
#include "algebra/operators/function.h"
#include "algebra/operators/law.h"
#include "algebra/operators/operator_instance.h"

namespace rulemill::algebra {

namespace syntax {
struct Definitions;
struct Operator;
}  // namespace syntax

class Library {
 public:
  Library();
  ~Library();
  /// A copy has the same definitions and instances; what is added to one is not added to the other.
  Library(const Library& other);
  Library(Library&&) noexcept;
  Library& operator=(Library&&) noexcept;

  /// Reads every *.op file of the folder, in name order, and of the folders that they include. Throws InputError with
  /// file:line:column.
  static Library load(const std::filesystem::path& folder);
  /// Adds one definition text; `origin` names it in messages. Includes are ignored.
  void add(std::string_view text, const std::string& origin);

  std::span<const Function> functions() const;
  /// The laws of the functions as equations.
  const std::vector<LawEquation>& laws() const;
  std::vector<std::string> operator_names() const;
  bool has_operator(const std::string& name) const;
  /// The operator whose output is of kind Positive; there is at most one.
  std::optional<std::string> positive_operator() const;

  /// The place of the definition: "file:line:column".
  std::string place_of(const std::string& name) const;
  /// The same of a scalar function; empty if there is none of this name.
  std::string place_of_function(const std::string& name) const;
  /// The names of the outputs.
  std::vector<std::string> output_names(const std::string& name) const;
  /// The names of the inputs.
  std::vector<std::string> input_names(const std::string& name) const;
  /// The number of tensor inputs.
  std::uint32_t arity(const std::string& name) const;
  /// The names of the sizes, and of the other parameters, in order of declaration.
  std::vector<std::string> size_parameter_names(const std::string& name) const;
  std::vector<std::string> parameter_names(const std::string& name) const;
  ParameterKind parameter_kind(const std::string& name, const std::string& parameter) const;
  /// The pack of a spread or a list of numbers, which has one entry per dimension of it; empty for other parameters.
  std::string parameter_pack(const std::string& name, const std::string& parameter) const;
  bool can_be_symbolic(const std::string& name, const std::string& parameter) const;
  std::optional<ParameterValue> default_value(const std::string& name, const std::string& parameter) const;
  /// The values of a parameter whose domain is finite, for the given input ranks; empty otherwise.
  std::vector<ParameterValue> domain(const std::string& name, const std::string& parameter,
                                     std::span<const std::uint32_t> input_ranks) const;

  /// Whether the operator can take inputs of these ranks.
  bool accepts_ranks(const std::string& name, std::span<const std::uint32_t> input_ranks,
                     const Parameters& parameters = {}) const;
  /// Whether `input_ranks` must have the length of a pack of sizes as one more entry, because no input has the pack.
  bool has_explicit_rank(const std::string& name) const;
  /// The number of dimensions of the operator's pack; 0 if there is no pack of that name.
  std::uint32_t pack_length(const std::string& name, std::span<const std::uint32_t> input_ranks,
                            const Parameters& parameters, const std::string& pack) const;
  /// Returns the interned instance: equal arguments give equal ids. Missing parameters get their defaults. If the
  /// operator has an explicit rank, it is the last entry of `input_ranks`. Throws InputError on an unknown operator,
  /// parameter or value, and on ranks that do not fit.
  const OperatorInstance& instantiate(const std::string& name, const Parameters& parameters,
                                      std::span<const std::uint32_t> input_ranks);
  /// The same; null if the operator does not take these parameters or ranks.
  const OperatorInstance* find_instance(const std::string& name, const Parameters& parameters,
                                        std::span<const std::uint32_t> input_ranks);
  const OperatorInstance& instance(InstanceId id) const;
  std::size_t instance_count() const;

  /// The assumed laws of all functions that the operator, or an operator that it calls, applies.
  std::vector<std::string> assumed_laws(const std::string& operator_name) const;

  /// The hex digest of everything that defines the operator: its text, the functions that it applies with their laws,
  /// and the operators that it calls, without comments, whitespace and ONNX mappings.
  std::string digest(const std::string& operator_name) const;
  /// The digest of the whole library.
  std::string digest() const;

  /// The mappings of an ONNX operator in order of definition; `domain` is empty for ONNX's own.
  std::vector<GenericOnnxMapping> onnx_mappings(const std::string& op_type, const std::string& domain) const;
  std::vector<GenericOnnxMapping> onnx_mappings() const;
  /// Removes mappings to operators of domains other than these and ONNX's own from all instances, and from instances
  /// that are made later. Called again, it can only remove more.
  void restrict_domains(std::set<std::string> domains);

 private:
  struct Impl;
  void add(std::vector<syntax::Definitions> files);
  void add_operator(std::shared_ptr<const syntax::Operator> op);

  std::unique_ptr<Impl> impl_;
};

/// Suggests the operators that are close, or says where all are listed.
std::string unknown_operator(const std::string& name, const std::vector<std::string>& operators);

}  // namespace rulemill::algebra
