#include "algebra/library/library.h"

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_map>

#include "algebra/language/lexer.h"
#include "algebra/library/definition_check.h"
#include "algebra/library/parameters.h"
#include "runtime/atomic_file.h"
#include "runtime/hash.h"
#include "runtime/joined.h"

namespace rulemill::algebra {

using runtime::InputError;

struct Library::State {
  std::vector<Function> functions;
  std::vector<std::string> function_texts;                   // for digests
  std::vector<std::unique_ptr<syntax::Operator>> operators;  // in order of definition
  std::unordered_map<std::string_view, const syntax::Operator*> by_name;
  std::deque<Instance> instances;
  std::unordered_map<std::string, InstanceId> interned;

  const syntax::Operator* find(const std::string& name) const {
    const auto found = by_name.find(name);
    return found == by_name.end() ? nullptr : found->second;
  }

  const syntax::Operator& get(const std::string& name) const {
    if (const syntax::Operator* op = find(name)) return *op;
    const std::string known = runtime::joined(operators, [](const auto& op) { return op->name; });
    throw InputError("", "unknown operator '" + name + "'; known are " + known);
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

  /// The operators that this one is made of, itself last, each once.
  std::vector<const syntax::Operator*> parts_of(const std::string& name) const {
    std::vector<const syntax::Operator*> found;
    collect_parts(get(name), found);
    return found;
  }

  void collect_parts(const syntax::Operator& op, std::vector<const syntax::Operator*>& found) const {
    if (std::ranges::find(found, &op) != found.end()) return;
    for (const std::string& part : syntax::called_operators(op)) collect_parts(get(part), found);
    found.push_back(&op);
  }

  /// Functions that these operators apply, in order of definition.
  std::vector<std::uint32_t> applied_functions(std::span<const syntax::Operator* const> parts) const {
    std::set<std::uint32_t> found;
    for (const syntax::Operator* op : parts) {
      for (const std::string& name : syntax::applied_functions(*op)) {
        std::uint32_t index = 0;
        if (find_function(name, &index)) found.insert(index);
      }
    }
    return {found.begin(), found.end()};
  }

  ExpansionContext context(Library& library) {
    return {[this](const std::string& name, std::uint32_t* index) { return find_function(name, index); },
            [&library](const std::string& op, const Parameters& parameters, std::span<const std::uint32_t> ranks)
                -> const Instance& { return library.instantiate(op, parameters, ranks); },
            [this](const std::string& op) { return find(op); }};
  }
};

Library::Library() : state_(std::make_unique<State>()) {}
Library::~Library() = default;
Library::Library(Library&&) noexcept = default;
Library& Library::operator=(Library&&) noexcept = default;

namespace {

/// Every definition file of the folder in name order, after those of the folders that they include; each folder once.
void parse_folder(const std::filesystem::path& folder, std::set<std::filesystem::path>& met,
                  std::vector<syntax::Definitions>& parsed) {
  std::error_code error;
  if (!met.insert(std::filesystem::weakly_canonical(folder)).second) return;
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
      parse_folder(included, met, parsed);
    }
    parsed.push_back(std::move(definitions));
  }
}

}  // namespace

Library Library::load(const std::filesystem::path& folder) {
  std::set<std::filesystem::path> met;
  std::vector<syntax::Definitions> definitions;
  parse_folder(folder, met, definitions);
  Library library;
  library.add(std::move(definitions));
  return library;
}

void Library::add(std::string_view text, const std::string& origin) {
  std::vector<syntax::Definitions> files;
  files.push_back(syntax::parse(text, origin));
  add(std::move(files));
}

/// Functions first, composites last: files may be in any order.
void Library::add(std::vector<syntax::Definitions> files) {
  for (syntax::Definitions& file : files) {
    for (syntax::FunctionSyntax& function : file.functions) {
      std::uint32_t unused = 0;
      if (state_->find_function(function.function.name, &unused)) {
        throw InputError(function.place, "function '" + function.function.name + "' is defined twice");
      }
      judge_laws(function);
      state_->functions.push_back(std::move(function.function));
      state_->function_texts.push_back(std::move(function.text));
    }
  }
  for (const bool composites : {false, true}) {
    for (syntax::Definitions& file : files) {
      for (syntax::Operator& op : file.operators) {
        if ((op.composite != nullptr) == composites) add_operator(std::make_unique<syntax::Operator>(std::move(op)));
      }
    }
  }
}

namespace {

bool gives_positives(const syntax::Operator& op) {
  return std::ranges::any_of(op.outputs, [](const auto& output) { return output.kind == ElementKind::Positives; });
}

}  // namespace

void Library::add_operator(std::unique_ptr<syntax::Operator> op) {
  const std::string where = place(op->origin, op->place.line, op->place.column);
  if (const auto other = positives_operator(); other && gives_positives(*op))
    throw InputError(where,
                     "operator '" + op->name + "': its output is of positives, and so is that of '" + *other + "'");
  if (state_->find(op->name)) throw InputError(where, "operator '" + op->name + "' is defined twice");
  for (std::size_t i = 0; i < op->parameters.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (op->parameters[i].name == op->parameters[j].name) {
        throw InputError(where, "operator '" + op->name + "' has two parameters '" + op->parameters[i].name + "'");
      }
    }
  }
  const ExpansionContext context = state_->context(*this);
  check_definition(*op, state_->functions, context);
  state_->by_name.emplace(op->name, op.get());
  state_->operators.push_back(std::move(op));
}

std::span<const Function> Library::functions() const { return state_->functions; }

std::vector<std::string> Library::operator_names() const {
  std::vector<std::string> names;
  for (const auto& op : state_->operators) names.push_back(op->name);
  return names;
}

bool Library::has_operator(const std::string& name) const { return state_->find(name) != nullptr; }

std::optional<std::string> Library::positives_operator() const {
  for (const auto& op : state_->operators) {
    if (gives_positives(*op)) return op->name;
  }
  return std::nullopt;
}

std::uint32_t Library::arity(const std::string& name) const {
  return static_cast<std::uint32_t>(state_->get(name).inputs.size());
}

std::vector<std::string> Library::size_parameter_names(const std::string& name) const {
  std::vector<std::string> names;
  for (const syntax::Parameter& parameter : state_->get(name).parameters) {
    if (parameter.kind == ParameterKind::Size) names.push_back(parameter.name);
    if (parameter.kind == ParameterKind::Sizes) names.push_back(parameter.name + "...");
  }
  return names;
}

std::vector<std::string> Library::parameter_names(const std::string& name) const {
  std::vector<std::string> names;
  for (const syntax::Parameter& parameter : state_->get(name).parameters) {
    if (parameter.kind != ParameterKind::Size && parameter.kind != ParameterKind::Sizes)
      names.push_back(parameter.name);
  }
  return names;
}

ParameterKind Library::parameter_kind(const std::string& name, const std::string& parameter) const {
  const syntax::Parameter* declared = state_->get(name).parameter(parameter);
  if (!declared) throw InputError("", "operator '" + name + "' has no parameter '" + parameter + "'");
  return declared->kind;
}

std::string Library::pack_of(const std::string& name, const std::string& parameter) const {
  const syntax::Operator& op = state_->get(name);
  const syntax::Parameter* declared = op.parameter(parameter);
  if (declared != nullptr && !declared->pack.empty()) return declared->pack;
  for (const syntax::Input& input : op.inputs) {
    for (const syntax::InputDim& dim : input.dims) {
      if (dim.is_pack && dim.spread == parameter) return dim.name;
    }
  }
  return {};
}

bool Library::may_be_open(const std::string& name, const std::string& parameter) const {
  const syntax::Parameter* declared = state_->get(name).parameter(parameter);
  return declared != nullptr && algebra::may_be_open(*declared);
}

std::optional<ParameterValue> Library::default_value(const std::string& name, const std::string& parameter) const {
  const syntax::Parameter* declared = state_->get(name).parameter(parameter);
  return declared ? declared->default_value : std::nullopt;
}

std::vector<ParameterValue> Library::domain(const std::string& name, const std::string& parameter,
                                            std::span<const std::uint32_t> input_ranks) const {
  const syntax::Parameter* declared = state_->get(name).parameter(parameter);
  if (!declared) throw InputError("", "operator '" + name + "' has no parameter '" + parameter + "'");
  return algebra::domain(*declared, input_ranks.empty() ? 0 : input_ranks[0]);
}

bool Library::accepts_ranks(const std::string& name, std::span<const std::uint32_t> input_ranks,
                            const Parameters& parameters) const {
  return pack_lengths(state_->get(name), input_ranks, parameters).has_value();
}

bool Library::has_open_rank(const std::string& name) const { return algebra::has_open_rank(state_->get(name)); }

std::uint32_t Library::pack_length(const std::string& name, std::span<const std::uint32_t> input_ranks,
                                   const Parameters& parameters, const std::string& pack) const {
  const auto lengths = pack_lengths(state_->get(name), input_ranks, parameters);
  if (!lengths) return 0;
  const auto found = lengths->find(pack);
  return found == lengths->end() ? 0 : found->second;
}

std::vector<OnnxForm> Library::onnx_forms(const std::optional<std::string>& op_type) const {
  std::vector<OnnxForm> result;
  for (const auto& op : state_->operators) {
    for (std::uint32_t number = 0; number < op->onnx.size(); ++number) {
      if (!op_type || op->onnx[number].op_type == *op_type) result.push_back(onnx_form(*op, number));
    }
  }
  return result;
}

const Instance& Library::instantiate(const std::string& name, const Parameters& parameters,
                                     std::span<const std::uint32_t> input_ranks) {
  const syntax::Operator& op = state_->get(name);
  if (!pack_lengths(op, input_ranks, parameters)) {
    const std::string ranks = runtime::joined(input_ranks, [](std::uint32_t rank) { return std::to_string(rank); });
    throw InputError("", "operator '" + name + "' takes " + std::to_string(op.inputs.size()) +
                             (op.inputs.size() == 1 ? " input" : " inputs") + "; inputs of rank (" + ranks +
                             ") do not fit it");
  }
  const Parameters complete = complete_parameters(op, parameters, input_ranks);
  std::string key = name;
  for (std::uint32_t rank : input_ranks) key += "/" + std::to_string(rank);
  for (const auto& [parameter, value] : complete) key += ";" + parameter + "=" + to_string(value);
  if (const auto found = state_->interned.find(key); found != state_->interned.end()) return instance(found->second);
  Instance made = expand(op, complete, input_ranks, state_->context(*this));
  check_claims(op, made, state_->functions);
  made.id = static_cast<InstanceId>(state_->instances.size());
  state_->instances.push_back(std::move(made));
  state_->interned.emplace(key, state_->instances.back().id);
  return state_->instances.back();
}

const Instance& Library::instance(InstanceId id) const { return state_->instances[static_cast<std::uint32_t>(id)]; }
std::size_t Library::instance_count() const { return state_->instances.size(); }

std::vector<std::string> Library::assumed_laws(const std::string& operator_name) const {
  std::vector<std::string> laws;
  for (const std::uint32_t index : state_->applied_functions(state_->parts_of(operator_name))) {
    laws.insert(laws.end(), state_->functions[index].assumed.begin(), state_->functions[index].assumed.end());
  }
  return laws;
}

std::string Library::digest(const std::string& operator_name) const {
  runtime::Hasher hasher;
  const std::vector<const syntax::Operator*> parts = state_->parts_of(operator_name);
  for (const syntax::Operator* part : parts) hasher.add_text(part->text);
  for (const std::uint32_t index : state_->applied_functions(parts)) hasher.add_text(state_->function_texts[index]);
  return runtime::to_hex(hasher.digest128());
}

std::string Library::digest() const {
  runtime::Hasher hasher;
  for (const auto& op : state_->operators) hasher.add_text(op->text);
  for (const std::string& text : state_->function_texts) hasher.add_text(text);
  return runtime::to_hex(hasher.digest128());
}

}  // namespace rulemill::algebra
