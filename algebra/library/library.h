// The operators and scalar functions that a run knows: loaded from definition files, expanded into instances on demand.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algebra/language/function.h"
#include "algebra/language/instance.h"

namespace rulemill::algebra {

namespace syntax {
struct Definitions;
struct Operator;
}  // namespace syntax

class Library {
 public:
  Library();
  ~Library();
  Library(Library&&) noexcept;
  Library& operator=(Library&&) noexcept;

  /// Reads every *.op file of the folder, in name order, and of the folders that they include. Throws InputError with
  /// file:line:column.
  static Library load(const std::filesystem::path& folder);
  /// One definition text; `origin` names it in messages. What it includes is taken to be there.
  void add(std::string_view text, const std::string& origin);

  std::span<const Function> functions() const;
  std::vector<std::string> operator_names() const;
  bool has_operator(const std::string& name) const;

  /// Number of tensor inputs; the names of size parameters and of enumerated or integer parameters, in order.
  std::uint32_t arity(const std::string& name) const;
  std::vector<std::string> size_parameter_names(const std::string& name) const;
  std::vector<std::string> parameter_names(const std::string& name) const;
  std::optional<ParameterValue> default_value(const std::string& name, const std::string& parameter) const;
  /// Values that a parameter may take, if its domain is finite (for `axis < rank`, with the given input ranks).
  std::vector<ParameterValue> domain(const std::string& name, const std::string& parameter,
                                     std::span<const std::uint32_t> input_ranks) const;

  /// Whether the operator can take inputs of these ranks.
  bool accepts_ranks(const std::string& name, std::span<const std::uint32_t> input_ranks) const;
  /// The instance; parameters that are not given take their default. Interned: equal arguments, equal id. A constant
  /// operator (no inputs) whose rank is open takes it as the one entry of `input_ranks`.
  /// Throws InputError on an unknown operator, parameter, value, or ranks that do not fit.
  const Instance& instantiate(const std::string& name, const Parameters& parameters,
                              std::span<const std::uint32_t> input_ranks);
  const Instance& instance(InstanceId id) const;
  std::size_t instance_count() const;

  /// Laws that are not proved among those of the functions that the operator, or an operator that it is made of,
  /// applies.
  std::vector<std::string> assumed_laws(const std::string& operator_name) const;

  /// Hex digest of all that an operator's meaning depends on: its own text, the functions it applies with their laws,
  /// the operators that it is made of. Comments, blanks and ONNX mappings are no part of it. And of the whole library.
  std::string digest(const std::string& operator_name) const;
  std::string digest() const;

  /// ONNX import: parameter values that make `onnx` attributes equal those given are searched over these operators.
  std::vector<std::string> operators_for_onnx(const std::string& op_type) const;

 private:
  struct State;
  void add(std::vector<syntax::Definitions> files);
  void add_operator(std::unique_ptr<syntax::Operator> op);

  std::unique_ptr<State> state_;
};

}  // namespace rulemill::algebra
