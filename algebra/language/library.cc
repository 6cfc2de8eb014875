#include "algebra/language/library.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <random>
#include <set>

#include "algebra/claims/symmetry.h"
#include "algebra/execution/plan.h"
#include "algebra/language/expand.h"
#include "algebra/language/lexer.h"
#include "algebra/sizes/checked.h"
#include "runtime/atomic_file.h"
#include "runtime/hash.h"

namespace rulemill::algebra {

using runtime::InputError;
using ParameterKind = syntax::Parameter::Kind;

std::string to_string(const ParameterValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  std::string text = "[";
  for (std::int64_t element : std::get<std::vector<std::int64_t>>(value)) {
    text += (text.size() > 1 ? "," : "") + std::to_string(element);
  }
  return text + "]";
}

double evaluate(const Function& function, std::span<const double> arguments) {
  std::array<double, 64> stack{};
  std::size_t top = 0;
  auto pop = [&] { return stack[--top]; };
  for (const Function::Node& node : function.real) {
    using Op = Function::Op;
    RM_CHECK(top + 1 < stack.size(), "a scalar function nests too deeply");
    switch (node.op) {
      case Op::Argument:
        stack[top++] = arguments[node.argument];
        continue;
      case Op::Number:
        stack[top++] = node.number;
        continue;
      default:
        break;
    }
    const double b = pop();
    switch (node.op) {
      case Op::Exp:
        stack[top++] = std::exp(b);
        continue;
      case Op::Log:
        stack[top++] = std::log(b);
        continue;
      case Op::Sqrt:
        stack[top++] = std::sqrt(b);
        continue;
      case Op::Tanh:
        stack[top++] = std::tanh(b);
        continue;
      case Op::Erf:
        stack[top++] = std::erf(b);
        continue;
      case Op::Abs:
        stack[top++] = std::fabs(b);
        continue;
      default:
        break;
    }
    const double a = pop();
    switch (node.op) {
      case Op::Add:
        stack[top++] = a + b;
        break;
      case Op::Sub:
        stack[top++] = a - b;
        break;
      case Op::Mul:
        stack[top++] = a * b;
        break;
      case Op::Div:
        stack[top++] = a / b;
        break;
      case Op::Max:
        stack[top++] = std::max(a, b);
        break;
      default:
        stack[top++] = std::min(a, b);
        break;
    }
  }
  return stack[0];
}

struct Library::State {
  std::vector<Function> functions;
  std::vector<std::string> function_texts;                   // for digests
  std::vector<std::unique_ptr<syntax::Operator>> operators;  // in order of definition
  std::deque<Instance> instances;
  std::unordered_map<std::string, InstanceId> interned;

  const syntax::Operator* find(const std::string& name) const {
    for (const auto& op : operators) {
      if (op->name == name) return op.get();
    }
    return nullptr;
  }

  const syntax::Operator& get(const std::string& name) const {
    if (const syntax::Operator* op = find(name)) return *op;
    std::string known;
    for (const auto& op : operators) known += (known.empty() ? "" : ", ") + op->name;
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

  static std::vector<ParameterValue> domain(const syntax::Parameter& parameter, std::uint32_t rank) {
    std::vector<ParameterValue> values;
    switch (parameter.kind) {
      case ParameterKind::Words:
        values.assign(parameter.words.begin(), parameter.words.end());
        break;
      case ParameterKind::Int:
        values.assign(parameter.numbers.begin(), parameter.numbers.end());
        break;
      case ParameterKind::Axis:
        for (std::uint32_t axis = 0; axis < rank; ++axis) values.emplace_back(std::int64_t{axis});
        break;
      case ParameterKind::Permutation: {
        if (rank > 5) break;
        std::vector<std::int64_t> permutation(rank);
        for (std::uint32_t i = 0; i < rank; ++i) permutation[i] = i;
        do values.emplace_back(permutation);
        while (std::ranges::next_permutation(permutation).found);
        break;
      }
      default:
        break;
    }
    return values;
  }

  /// Defaults filled in, every value checked. Sizes are not parameters in this sense.
  static Parameters complete(const syntax::Operator& op, const Parameters& given,
                             std::span<const std::uint32_t> ranks) {
    const std::string where = "operator '" + op.name + "'";
    for (const auto& [name, value] : given) {
      const syntax::Parameter* declared = op.parameter(name);
      if (!declared || declared->kind == ParameterKind::Size || declared->kind == ParameterKind::Sizes) {
        std::string known;
        for (const syntax::Parameter& parameter : op.parameters) known += (known.empty() ? "" : ", ") + parameter.name;
        throw InputError("", where + " has no parameter '" + name + "'" + (known.empty() ? "" : "; it has " + known));
      }
    }
    Parameters complete;
    const std::uint32_t rank = ranks.empty() ? 0 : ranks[0];
    for (const syntax::Parameter& declared : op.parameters) {
      if (declared.kind == ParameterKind::Size || declared.kind == ParameterKind::Sizes) continue;
      const auto found = given.find(declared.name);
      if (found == given.end() && !declared.default_value) {
        throw InputError("", where + " needs its parameter '" + declared.name + "'");
      }
      const ParameterValue& value = found == given.end() ? *declared.default_value : found->second;
      if (!allowed(declared, value, rank)) {
        throw InputError("",
                         where + ": " + declared.name + "=" + to_string(value) + " is not " + expected(declared, rank));
      }
      complete[declared.name] = value;
    }
    return complete;
  }

  static bool allowed(const syntax::Parameter& declared, const ParameterValue& value, std::uint32_t rank) {
    if (declared.kind == ParameterKind::Permutation) {
      const auto* order = std::get_if<std::vector<std::int64_t>>(&value);
      if (!order || order->size() != rank) return false;
      std::vector<std::int64_t> sorted = *order;
      std::ranges::sort(sorted);
      for (std::uint32_t i = 0; i < rank; ++i) {
        if (sorted[i] != i) return false;
      }
      return true;
    }
    if (declared.kind == ParameterKind::Int && declared.numbers.empty()) {
      const auto* number = std::get_if<std::int64_t>(&value);
      return number && *number >= 0 && *number < (1 << 20);
    }
    const std::vector<ParameterValue> values = domain(declared, rank);
    return std::ranges::find(values, value) != values.end();
  }

  static std::string expected(const syntax::Parameter& declared, std::uint32_t rank) {
    switch (declared.kind) {
      case ParameterKind::Permutation:
        return "a permutation of 0.." + std::to_string(static_cast<int>(rank) - 1);
      case ParameterKind::Axis:
        return "an axis below the rank " + std::to_string(rank);
      default:
        break;
    }
    std::string text;
    for (const ParameterValue& value : domain(declared, rank)) text += (text.empty() ? "" : ", ") + to_string(value);
    return text.empty() ? "a number from 0 to 1048575" : "one of " + text;
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

namespace {

/// Whether exchanging the inputs changes the result for small random values.
bool differs_when_exchanged(const Instance& instance, const Library& library) {
  for (const std::int64_t size : {2, 3, 4}) {
    const std::vector<std::vector<std::int64_t>> shapes = {std::vector<std::int64_t>(instance.inputs[0].size(), size),
                                                           std::vector<std::int64_t>(instance.inputs[1].size(), size)};
    const std::optional<Plan> plan = compile(library, instance, shapes, {});
    if (!plan) continue;
    std::mt19937_64 random(static_cast<std::uint64_t>(size));
    std::array<std::vector<double>, 2> values;
    for (std::size_t i = 0; i < 2; ++i) {
      const std::int64_t count = element_count(shapes[i]);
      for (std::int64_t k = 0; k < count; ++k) values[i].push_back(static_cast<double>(random() % 19) - 9);
    }
    const std::array<std::span<const double>, 2> forward = {values[0], values[1]}, backward = {values[1], values[0]};
    if (evaluate(library, *plan, forward) != evaluate(library, *plan, backward)) return true;
  }
  return false;
}

/// "commutative" is a claim, shown for each instance that is made or refused.
void check_commutative(const syntax::Operator& op, const Instance& instance, const Library& library) {
  const std::optional<std::string> against = asymmetry(instance, library.functions());
  if (!against) return;
  const bool same_types = instance.inputs.size() == 2 && instance.size_parameter_count() == 0 &&
                          instance.inputs[0].size() == instance.inputs[1].size();
  const std::string why = same_types && differs_when_exchanged(instance, library)
                              ? "exchanging its inputs changes the result"
                              : *against + "; a rule that exchanges them can be proved instead";
  throw InputError(place(op.origin, op.place.line, op.place.column),
                   "operator '" + op.name + "': it is declared commutative, but " + why);
}

/// Expands the operator over its finite parameters and small ranks, so that every error in it is met on loading.
class Checker {
 public:
  Checker(const syntax::Operator& op, const Library& library, const ExpansionContext& context)
      : op_(op), library_(library), context_(context) {}

  void check() {
    bool any = false;
    for (std::uint32_t length : {1U, 2U}) {
      std::vector<std::uint32_t> ranks;
      bool has_pack = false;
      for (const syntax::Input& input : op_.inputs) {
        std::uint32_t rank = 0;
        for (const syntax::InputDim& dim : input.dims) {
          has_pack = has_pack || dim.is_pack;
          rank += dim.is_pack ? length : 1;
        }
        ranks.push_back(rank);
      }
      for (const syntax::Parameter& parameter : op_.parameters) {
        if (parameter.kind != ParameterKind::Sizes) continue;
        has_pack = true;
        ranks = {length};
      }
      if (length == 2 && !has_pack) break;
      any = any || pack_lengths(op_, ranks).has_value();
      if (pack_lengths(op_, ranks)) each_choice(0, {}, ranks);
    }
    if (!any) fail("no ranks of its inputs fit together");
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw InputError(place(op_.origin, op_.place.line, op_.place.column), "operator '" + op_.name + "': " + message);
  }

  void each_choice(std::size_t at, Parameters chosen, std::span<const std::uint32_t> ranks) {
    if (at == op_.parameters.size()) {
      const Instance instance = expand(op_, chosen, ranks, context_);
      if (instance.commutative) check_commutative(op_, instance, library_);
      return;
    }
    const syntax::Parameter& parameter = op_.parameters[at];
    if (parameter.kind == ParameterKind::Size || parameter.kind == ParameterKind::Sizes)
      return each_choice(at + 1, chosen, ranks);
    const std::uint32_t rank = ranks.empty() ? 0 : ranks[0];
    std::vector<ParameterValue> values = domain_of(parameter, rank);
    if (values.empty()) values = {parameter.default_value.value_or(ParameterValue(std::int64_t{3}))};
    for (const ParameterValue& value : values) {
      chosen[parameter.name] = value;
      each_choice(at + 1, chosen, ranks);
    }
  }

  static std::vector<ParameterValue> domain_of(const syntax::Parameter& parameter, std::uint32_t rank) {
    std::vector<ParameterValue> values;
    values.assign(parameter.words.begin(), parameter.words.end());
    values.insert(values.end(), parameter.numbers.begin(), parameter.numbers.end());
    if (parameter.kind == ParameterKind::Axis) {
      for (std::uint32_t axis = 0; axis < rank; ++axis) values.emplace_back(std::int64_t{axis});
    }
    if (parameter.kind == ParameterKind::Permutation) {
      std::vector<std::int64_t> reversed(rank);
      for (std::uint32_t i = 0; i < rank; ++i) reversed[i] = rank - 1 - i;
      values.emplace_back(reversed);
    }
    return values;
  }

  const syntax::Operator& op_;
  const Library& library_;
  const ExpansionContext& context_;
};

}  // namespace

namespace {

/// A law that holds becomes one of the function's; one that does not is refused.
void judge_laws(syntax::FunctionSyntax& syntax) {
  Function& function = syntax.function;
  for (const syntax::LawClaim& claim : syntax.laws) {
    const LawVerdict verdict = judge(function, claim.law);
    if (verdict.kind == LawVerdict::Kind::Refuted) {
      throw InputError(claim.place, "the law " + claim.text + " does not hold: " + verdict.counterexample);
    }
    if (verdict.kind == LawVerdict::Kind::Assumed) function.assumed.push_back(claim.text);
    if (claim.law == Law::ZeroToZero) function.maps_zero_to_zero = true;
    if (claim.law == Law::Idempotent) function.idempotent = true;
    if (claim.law == Law::Commutative) function.commutative = true;
  }
}

}  // namespace

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

void Library::add_operator(std::unique_ptr<syntax::Operator> op) {
  const std::string where = place(op->origin, op->place.line, op->place.column);
  if (state_->find(op->name)) throw InputError(where, "operator '" + op->name + "' is defined twice");
  for (std::size_t i = 0; i < op->parameters.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (op->parameters[i].name == op->parameters[j].name) {
        throw InputError(where, "operator '" + op->name + "' has two parameters '" + op->parameters[i].name + "'");
      }
    }
  }
  const ExpansionContext context = state_->context(*this);
  Checker(*op, *this, context).check();
  state_->operators.push_back(std::move(op));
}

std::span<const Function> Library::functions() const { return state_->functions; }

std::vector<std::string> Library::operator_names() const {
  std::vector<std::string> names;
  for (const auto& op : state_->operators) names.push_back(op->name);
  return names;
}

bool Library::has_operator(const std::string& name) const { return state_->find(name) != nullptr; }

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

std::optional<ParameterValue> Library::default_value(const std::string& name, const std::string& parameter) const {
  const syntax::Parameter* declared = state_->get(name).parameter(parameter);
  return declared ? declared->default_value : std::nullopt;
}

std::vector<ParameterValue> Library::domain(const std::string& name, const std::string& parameter,
                                            std::span<const std::uint32_t> input_ranks) const {
  const syntax::Parameter* declared = state_->get(name).parameter(parameter);
  if (!declared) throw InputError("", "operator '" + name + "' has no parameter '" + parameter + "'");
  return State::domain(*declared, input_ranks.empty() ? 0 : input_ranks[0]);
}

bool Library::accepts_ranks(const std::string& name, std::span<const std::uint32_t> input_ranks) const {
  return pack_lengths(state_->get(name), input_ranks).has_value();
}

const Instance& Library::instantiate(const std::string& name, const Parameters& parameters,
                                     std::span<const std::uint32_t> input_ranks) {
  const syntax::Operator& op = state_->get(name);
  if (!pack_lengths(op, input_ranks)) {
    std::string ranks;
    for (std::uint32_t rank : input_ranks) ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
    throw InputError("", "operator '" + name + "' takes " + std::to_string(op.inputs.size()) +
                             (op.inputs.size() == 1 ? " input" : " inputs") + "; inputs of rank (" + ranks +
                             ") do not fit it");
  }
  const Parameters complete = State::complete(op, parameters, input_ranks);
  std::string key = name;
  for (std::uint32_t rank : input_ranks) key += "/" + std::to_string(rank);
  for (const auto& [parameter, value] : complete) key += ";" + parameter + "=" + to_string(value);
  if (const auto found = state_->interned.find(key); found != state_->interned.end()) return instance(found->second);
  Instance made = expand(op, complete, input_ranks, state_->context(*this));
  if (made.commutative) check_commutative(op, made, *this);
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

std::vector<std::string> Library::operators_for_onnx(const std::string& op_type) const {
  std::vector<std::string> names;
  for (const auto& op : state_->operators) {
    const bool says =
        std::ranges::any_of(op->onnx, [&](const syntax::OnnxSyntax& onnx) { return onnx.op_type == op_type; });
    if (says) names.push_back(op->name);
  }
  return names;
}

}  // namespace rulemill::algebra
