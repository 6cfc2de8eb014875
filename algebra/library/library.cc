#include "algebra/library/library.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>

#include "algebra/expansion/pack_lengths.h"
#include "algebra/language/lexer.h"
#include "algebra/library/definition_check.h"
#include "algebra/library/law_equations.h"
#include "algebra/library/parameters.h"
#include "algebra/operators/aten_domain.h"
#include "runtime/files/atomic_file.h"
#include "runtime/text/hash.h"
#include "runtime/text/join_text.h"
#include "runtime/text/unknown_name.h"

namespace rulemill::algebra {

using runtime::InputError;

struct Library::Impl {
  std::vector<Function> functions;
  std::vector<std::string> function_texts;  // for digests
  std::vector<std::string> function_places;
  std::vector<syntax::DeclaredEquation> equations;
  std::vector<LawEquation> laws;
  std::vector<std::shared_ptr<const syntax::Operator>> operators;  // in order of definition; shared with copies
  std::unordered_map<std::string_view, const syntax::Operator*> by_name;
  std::deque<OperatorInstance> instances;
  std::unordered_map<std::string, InstanceId> interned;
  std::optional<std::set<std::string>> domains;  // of ONNX mappings; nullopt: all but those of PyTorch's operators
  std::vector<std::pair<InstanceId, OnnxMapping>> set_aside;

  std::vector<std::string> operator_names() const {
    std::vector<std::string> names;
    for (const auto& op : operators) names.push_back(op->name);
    return names;
  }

  const syntax::Operator* find(const std::string& name) const {
    const auto found = by_name.find(name);
    return found == by_name.end() ? nullptr : found->second;
  }

  const syntax::Operator& get(const std::string& name) const {
    if (const syntax::Operator* op = find(name)) return *op;
    throw InputError("", unknown_operator(name, operator_names()));
  }

  /// Of instances of a library that is not restricted, the mappings of PyTorch's operators are kept aside.
  void remove_other_domains(OperatorInstance& instance) {
    std::erase_if(instance.onnx, [&](const OnnxMapping& mapping) {
      const bool is_aten = mapping.domain == aten_domain;
      if (!domains && is_aten) set_aside.emplace_back(instance.id, mapping);
      return domains ? !domains->contains(mapping.domain) : is_aten;
    });
  }

  const Function* find_function(const std::string& name, std::uint32_t* index) const {
    for (std::uint32_t i = 0; i < functions.size(); ++i) {
      if (functions[i].name == name) {
        *index = i;
        return &functions[i];
      }
    }
    return nullptr;
  }

  /// The operators that this one calls, directly or not, and itself last; each once.
  std::vector<const syntax::Operator*> transitive_operators(const std::string& name) const {
    std::vector<const syntax::Operator*> found;
    collect_operators(get(name), found);
    return found;
  }

  void collect_operators(const syntax::Operator& op, std::vector<const syntax::Operator*>& found) const {
    if (std::ranges::find(found, &op) != found.end()) return;
    for (const std::string& called : syntax::called_operators(op)) collect_operators(get(called), found);
    found.push_back(&op);
  }

  /// The functions that these operators apply, in order of definition.
  std::vector<std::uint32_t> applied_functions(std::span<const syntax::Operator* const> operators_used) const {
    std::set<std::uint32_t> found;
    for (const syntax::Operator* op : operators_used) {
      for (const std::string& name : syntax::applied_functions(*op)) {
        std::uint32_t index = 0;
        if (find_function(name, &index)) found.insert(index);
      }
    }
    return {found.begin(), found.end()};
  }

  ExpansionContext context(Library& library) {
    return {[this](const std::string& name, std::uint32_t* index) { return find_function(name, index); },
            [this] {
              std::vector<std::string> names;
              for (const Function& each : functions) names.push_back(each.name);
              return names;
            },
            [&library](const std::string& op, const Parameters& parameters, std::span<const std::uint32_t> ranks)
                -> const OperatorInstance& { return library.instantiate(op, parameters, ranks); },
            [this](const std::string& op) { return find(op); }};
  }
};

Library::Library() : impl_(std::make_unique<Impl>()) {}
Library::~Library() = default;
Library::Library(const Library& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
Library::Library(Library&&) noexcept = default;
Library& Library::operator=(Library&&) noexcept = default;

namespace {

/// Parses the definition files of the folder in name order, each after the folders that it includes; each folder once.
void parse_folder(const std::filesystem::path& folder, std::set<std::filesystem::path>& visited,
                  std::vector<syntax::Definitions>& parsed) {
  std::error_code error;
  if (!visited.insert(std::filesystem::weakly_canonical(folder)).second) return;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".op") files.push_back(entry.path());
  }
  if (error) throw InputError(folder.string(), "cannot read this folder of definitions: " + error.message());
  if (files.empty()) throw InputError(folder.string(), "no definition file (*.op) in this folder");
  std::ranges::sort(files);
  for (const auto& file : files) {
    syntax::Definitions definitions = syntax::parse(runtime::read_file(file), file.string());
    for (const syntax::Include& include : definitions.includes) {
      const std::filesystem::path included = folder / include.folder;
      if (!std::filesystem::is_directory(included))
        throw InputError(include.place, "there is no folder " + included.string() + " to include");
      parse_folder(included, visited, parsed);
    }
    parsed.push_back(std::move(definitions));
  }
}

}  // namespace

Library Library::load(const std::filesystem::path& folder) {
  std::set<std::filesystem::path> visited;
  std::vector<syntax::Definitions> definitions;
  parse_folder(folder, visited, definitions);
  Library library;
  library.add(std::move(definitions));
  return library;
}

void Library::add(std::string_view text, const std::string& origin) {
  std::vector<syntax::Definitions> files;
  files.push_back(syntax::parse(text, origin));
  add(std::move(files));
}

/// Adds functions first and composites last, so that the order of files does not matter.
void Library::add(std::vector<syntax::Definitions> files) {
  for (syntax::Definitions& file : files) {
    for (syntax::FunctionSyntax& function : file.functions) {
      std::uint32_t first = 0;
      if (impl_->find_function(function.function.name, &first))
        throw InputError(function.place, "function '" + function.function.name + "' is defined twice, first at " +
                                             impl_->function_places[first]);
      check_laws(function);
      std::ranges::move(function.equations, std::back_inserter(impl_->equations));
      impl_->functions.push_back(std::move(function.function));
      impl_->function_texts.push_back(std::move(function.text));
      impl_->function_places.push_back(std::move(function.place));
    }
  }
  complete_functions(impl_->functions);
  impl_->laws = make_law_equations(impl_->functions, impl_->equations);
  for (const bool composites : {false, true}) {
    for (syntax::Definitions& file : files) {
      for (syntax::Operator& op : file.operators) {
        if ((op.composite != nullptr) == composites)
          add_operator(std::make_shared<const syntax::Operator>(std::move(op)));
      }
    }
  }
}

namespace {

bool has_positive_output(const syntax::Operator& op) {
  return std::ranges::any_of(op.outputs, [](const auto& output) { return output.scalar_kind == ScalarKind::Positive; });
}

}  // namespace

void Library::add_operator(std::shared_ptr<const syntax::Operator> op) {
  const std::string where = place(op->origin, op->place.line, op->place.column);
  if (const auto other = positive_operator(); other && has_positive_output(*op))
    throw InputError(
        where, "operator '" + op->name + "': its output is declared positive, and so is that of '" + *other + "'");
  if (impl_->find(op->name))
    throw InputError(where, "operator '" + op->name + "' is defined twice, first at " + place_of(op->name));
  for (std::size_t i = 0; i < op->parameters.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (op->parameters[i].name == op->parameters[j].name)
        throw InputError(where, "operator '" + op->name + "' has two parameters '" + op->parameters[i].name + "'");
    }
  }
  const ExpansionContext context = impl_->context(*this);
  check_definition(*op, impl_->functions, context);
  impl_->by_name.emplace(op->name, op.get());
  impl_->operators.push_back(std::move(op));
}

std::span<const Function> Library::functions() const { return impl_->functions; }
const std::vector<LawEquation>& Library::laws() const { return impl_->laws; }

std::vector<std::string> Library::operator_names() const { return impl_->operator_names(); }

bool Library::has_operator(const std::string& name) const { return impl_->find(name) != nullptr; }

std::optional<std::string> Library::positive_operator() const {
  for (const auto& op : impl_->operators) {
    if (has_positive_output(*op)) return op->name;
  }
  return std::nullopt;
}

std::string Library::place_of(const std::string& name) const {
  const syntax::Operator& op = impl_->get(name);
  return place(op.origin, op.place.line, op.place.column);
}

std::string Library::place_of_function(const std::string& name) const {
  std::uint32_t index = 0;
  return impl_->find_function(name, &index) ? impl_->function_places[index] : "";
}

std::vector<std::string> Library::output_names(const std::string& name) const {
  const syntax::Operator& op = impl_->get(name);
  if (op.composite) return output_names(op.composite->name);
  std::vector<std::string> names;
  for (const syntax::Tensor& output : op.outputs) names.push_back(output.name);
  return names;
}

std::vector<std::string> Library::input_names(const std::string& name) const {
  std::vector<std::string> names;
  for (const syntax::Input& input : impl_->get(name).inputs) names.push_back(input.name);
  return names;
}

std::uint32_t Library::arity(const std::string& name) const {
  return static_cast<std::uint32_t>(impl_->get(name).inputs.size());
}

std::vector<std::string> Library::size_parameter_names(const std::string& name) const {
  std::vector<std::string> names;
  for (const syntax::Parameter& parameter : impl_->get(name).parameters) {
    if (parameter.kind == ParameterKind::Size) names.push_back(parameter.name);
    if (parameter.kind == ParameterKind::Sizes) names.push_back(parameter.name + "...");
  }
  return names;
}

std::vector<std::string> Library::parameter_names(const std::string& name) const {
  std::vector<std::string> names;
  for (const syntax::Parameter& parameter : impl_->get(name).parameters) {
    if (parameter.kind != ParameterKind::Size && parameter.kind != ParameterKind::Sizes)
      names.push_back(parameter.name);
  }
  return names;
}

ParameterKind Library::parameter_kind(const std::string& name, const std::string& parameter) const {
  const syntax::Parameter* declared = impl_->get(name).parameter(parameter);
  if (!declared) throw InputError("", "operator '" + name + "' has no parameter '" + parameter + "'");
  return declared->kind;
}

std::string Library::parameter_pack(const std::string& name, const std::string& parameter) const {
  const syntax::Operator& op = impl_->get(name);
  const syntax::Parameter* declared = op.parameter(parameter);
  if (declared != nullptr && !declared->pack.empty()) return declared->pack;
  for (const syntax::Input& input : op.inputs) {
    for (const syntax::InputDim& dim : input.dims) {
      if (dim.is_pack && dim.spread == parameter) return dim.name;
    }
  }
  return {};
}

bool Library::can_be_symbolic(const std::string& name, const std::string& parameter) const {
  const syntax::Parameter* declared = impl_->get(name).parameter(parameter);
  return declared != nullptr && algebra::can_be_symbolic(*declared);
}

std::optional<ParameterValue> Library::default_value(const std::string& name, const std::string& parameter) const {
  const syntax::Parameter* declared = impl_->get(name).parameter(parameter);
  return declared ? declared->default_value : std::nullopt;
}

std::vector<ParameterValue> Library::domain(const std::string& name, const std::string& parameter,
                                            std::span<const std::uint32_t> input_ranks) const {
  const syntax::Parameter* declared = impl_->get(name).parameter(parameter);
  if (!declared) throw InputError("", "operator '" + name + "' has no parameter '" + parameter + "'");
  return algebra::domain(*declared, input_ranks.empty() ? 0 : input_ranks[0]);
}

bool Library::accepts_ranks(const std::string& name, std::span<const std::uint32_t> input_ranks,
                            const Parameters& parameters) const {
  return pack_lengths(impl_->get(name), input_ranks, parameters).has_value();
}

bool Library::has_explicit_rank(const std::string& name) const { return algebra::has_explicit_rank(impl_->get(name)); }

std::uint32_t Library::pack_length(const std::string& name, std::span<const std::uint32_t> input_ranks,
                                   const Parameters& parameters, const std::string& pack) const {
  const auto lengths = pack_lengths(impl_->get(name), input_ranks, parameters);
  if (!lengths) return 0;
  const auto found = lengths->find(pack);
  return found == lengths->end() ? 0 : found->second;
}

std::vector<GenericOnnxMapping> Library::onnx_mappings(const std::string& op_type, const std::string& domain) const {
  std::vector<GenericOnnxMapping> result;
  for (const auto& op : impl_->operators) {
    for (std::uint32_t number = 0; number < op->onnx.size(); ++number) {
      const syntax::OnnxMappingSyntax& mapping = op->onnx[number];
      if (mapping.op_type == op_type && mapping.domain == domain) result.push_back(make_generic_mapping(*op, number));
    }
  }
  return result;
}

std::vector<GenericOnnxMapping> Library::onnx_mappings() const {
  std::vector<GenericOnnxMapping> result;
  for (const auto& op : impl_->operators) {
    for (std::uint32_t number = 0; number < op->onnx.size(); ++number)
      result.push_back(make_generic_mapping(*op, number));
  }
  return result;
}

void Library::restrict_domains(std::set<std::string> domains) {
  domains.insert("");
  impl_->domains = std::move(domains);
  for (auto& [id, mapping] : std::exchange(impl_->set_aside, {}))
    impl_->instances[static_cast<std::size_t>(id)].onnx.push_back(mapping);
  for (OperatorInstance& instance : impl_->instances) impl_->remove_other_domains(instance);
}

const OperatorInstance& Library::instantiate(const std::string& name, const Parameters& parameters,
                                             std::span<const std::uint32_t> input_ranks) {
  const syntax::Operator& op = impl_->get(name);
  if (!pack_lengths(op, input_ranks, parameters)) {
    const std::string ranks = runtime::join_text(input_ranks, [](std::uint32_t rank) { return std::to_string(rank); });
    throw InputError("", "operator '" + name + "' takes " + std::to_string(op.inputs.size()) +
                             (op.inputs.size() == 1 ? " input" : " inputs") + "; inputs of rank (" + ranks +
                             ") do not fit it");
  }
  const Parameters complete = complete_parameters(op, parameters, input_ranks);
  std::string key = name;
  for (std::uint32_t rank : input_ranks) key += "/" + std::to_string(rank);
  for (const auto& [parameter, value] : complete) key += ";" + parameter + "=" + to_string(value);
  if (const auto found = impl_->interned.find(key); found != impl_->interned.end()) return instance(found->second);
  OperatorInstance instance = expand(op, complete, input_ranks, impl_->context(*this));
  check_declared_properties(op, instance, impl_->functions);
  instance.id = static_cast<InstanceId>(impl_->instances.size());
  impl_->remove_other_domains(instance);
  impl_->instances.push_back(std::move(instance));
  impl_->interned.emplace(key, impl_->instances.back().id);
  return impl_->instances.back();
}

const OperatorInstance* Library::find_instance(const std::string& name, const Parameters& parameters,
                                               std::span<const std::uint32_t> input_ranks) {
  try {
    return &instantiate(name, parameters, input_ranks);
  } catch (const InputError&) {
    return nullptr;
  }
}

const OperatorInstance& Library::instance(InstanceId id) const {
  return impl_->instances[static_cast<std::uint32_t>(id)];
}
std::size_t Library::instance_count() const { return impl_->instances.size(); }

std::vector<std::string> Library::assumed_laws(const std::string& operator_name) const {
  std::vector<std::string> laws;
  for (const std::uint32_t index : impl_->applied_functions(impl_->transitive_operators(operator_name)))
    laws.insert(laws.end(), impl_->functions[index].assumed_laws.begin(), impl_->functions[index].assumed_laws.end());
  return laws;
}

std::string Library::digest(const std::string& operator_name) const {
  runtime::Hasher hasher;
  const std::vector<const syntax::Operator*> operators_used = impl_->transitive_operators(operator_name);
  for (const syntax::Operator* called : operators_used) hasher.add_text(called->text);
  for (const std::uint32_t index : impl_->applied_functions(operators_used))
    hasher.add_text(impl_->function_texts[index]);
  return runtime::to_hex(hasher.digest128());
}

std::string Library::digest() const {
  runtime::Hasher hasher;
  for (const auto& op : impl_->operators) hasher.add_text(op->text);
  for (const std::string& text : impl_->function_texts) hasher.add_text(text);
  return runtime::to_hex(hasher.digest128());
}

std::string unknown_operator(const std::string& name, const std::vector<std::string>& operators) {
  return runtime::unknown_name("operator", name, operators, "`rulemill operators list`");
}

}  // namespace rulemill::algebra
