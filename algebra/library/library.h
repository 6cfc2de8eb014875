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
#include "algebra/language/onnx_form.h"

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
  /// The operator whose output is of positives, if there is one; there are no two.
  std::optional<std::string> positives_operator() const;

  /// Number of tensor inputs; the names of size parameters and of enumerated or integer parameters, in order.
  std::uint32_t arity(const std::string& name) const;
  std::vector<std::string> size_parameter_names(const std::string& name) const;
  std::vector<std::string> parameter_names(const std::string& name) const;
  ParameterKind parameter_kind(const std::string& name, const std::string& parameter) const;
  /// Of an input's spread or a list of numbers: the pack for whose dimensions it has entries.
  std::string pack_of(const std::string& name, const std::string& parameter) const;
  bool may_be_open(const std::string& name, const std::string& parameter) const;
  std::optional<ParameterValue> default_value(const std::string& name, const std::string& parameter) const;
  /// Values that a parameter may take, if its domain is finite (for `axis < rank`, with the given input ranks).
  std::vector<ParameterValue> domain(const std::string& name, const std::string& parameter,
                                     std::span<const std::uint32_t> input_ranks) const;

  /// Whether the operator can take inputs of these ranks.
  bool accepts_ranks(const std::string& name, std::span<const std::uint32_t> input_ranks,
                     const Parameters& parameters = {}) const;
  /// Whether `input_ranks` takes the length of a pack of sizes as one more entry.
  bool has_open_rank(const std::string& name) const;
  /// Of the pack in the operator's dimensions; 0 if there is none of that name.
  std::uint32_t pack_length(const std::string& name, std::span<const std::uint32_t> input_ranks,
                            const Parameters& parameters, const std::string& pack) const;
  /// The instance; parameters that are not given take their default. Interned: equal arguments, equal id. An
  /// operator with a pack of sizes that no input has takes its length as one more entry of `input_ranks`.
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

  /// The mappings that say such a node, or any, in the order of definition.
  std::vector<OnnxForm> onnx_forms(const std::optional<std::string>& op_type = {}) const;

 private:
  struct State;
  void add(std::vector<syntax::Definitions> files);
  void add_operator(std::unique_ptr<syntax::Operator> op);

  std::unique_ptr<State> state_;
};

}  // namespace rulemill::algebra
