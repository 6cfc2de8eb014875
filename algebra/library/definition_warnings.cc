#include "algebra/library/definition_warnings.h"

#include <algorithm>

#include "algebra/language/lexer.h"
#include "algebra/library/library.h"
#include "algebra/properties/positivity.h"
#include "runtime/files/atomic_file.h"

namespace rulemill::algebra {
namespace {

/// Returns the ranks of the inputs, and the explicit rank if there is one, for packs of `length` dimensions.
std::vector<std::uint32_t> ranks_of(const syntax::Operator& op, const Library& library, std::uint32_t length) {
  std::vector<std::uint32_t> ranks;
  for (const syntax::Input& input : op.inputs) {
    std::uint32_t& rank = ranks.emplace_back(0);
    for (const syntax::InputDim& dim : input.dims) rank += dim.is_pack ? length : 1;
  }
  if (library.has_explicit_rank(op.name)) ranks.push_back(length);
  return ranks;
}

/// Returns a function that an instance with packs of `length` dimensions may apply outside its domain.
std::optional<std::string> function_outside_domain(const syntax::Operator& op, Library& library, std::uint32_t length) {
  const std::vector<std::uint32_t> ranks = ranks_of(op, library, length);
  Parameters parameters;
  for (const std::string& name : library.parameter_names(op.name)) {
    const std::vector<ParameterValue> values = library.domain(op.name, name, ranks);
    if (!library.default_value(op.name, name) && !values.empty()) parameters[name] = values[0];
  }
  const OperatorInstance* instance = library.find_instance(op.name, parameters, ranks);
  return instance == nullptr ? std::nullopt : find_function_outside_domain(*instance, library.functions());
}

}  // namespace

std::vector<DefinitionWarning> find_definition_warnings(const std::filesystem::path& folder) {
  Library library = Library::load(folder);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".op") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::vector<DefinitionWarning> result;
  for (const std::filesystem::path& file : files) {
    const syntax::Definitions definitions = syntax::parse(runtime::read_file(file), file.string());
    for (const syntax::Operator& op : definitions.operators) {
      for (DefinitionWarning& warning : find_unrelated_reads(op)) result.push_back(std::move(warning));
      for (const std::uint32_t length : {1U, 2U}) {
        const auto function = function_outside_domain(op, library, length);
        if (!function) continue;
        result.push_back({place(op.origin, op.place.line, op.place.column),
                          "operator '" + op.name + "' is undefined for some values of its inputs, by " + *function +
                              "; to define it everywhere, bound the argument, as inverse_root does "
                              "(docs/definitions.md)"});
        break;
      }
    }
  }
  return result;
}

}  // namespace rulemill::algebra
