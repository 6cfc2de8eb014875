#include "algebra/library/definition_warnings.h"

#include <algorithm>
#include <map>

#include "algebra/language/lexer.h"
#include "algebra/library/library.h"
#include "algebra/properties/positivity.h"
#include "runtime/files/atomic_file.h"

namespace rulemill::algebra {
namespace {

using syntax::IndexItem;
using syntax::Scalar;

/// Returns the name of an item that is a pack or a name alone, with "..." after a pack; empty for others.
std::string plain_name(const IndexItem& item) {
  if (!item.pack.empty()) return item.change == IndexItem::Change::None ? item.pack + "..." : "";
  return item.expression && item.expression->kind == syntax::Index::Kind::Name ? item.expression->name : "";
}

std::string plain_name(const syntax::InputDim& dim) { return dim.is_pack ? dim.name + "..." : dim.name; }

class ReadFinder {
 public:
  explicit ReadFinder(const syntax::Operator& op) : op_(op) {}

  std::vector<DefinitionWarning> run() {
    for (const auto* tensors : {&op_.tensors, &op_.outputs}) {
      for (const syntax::Tensor& tensor : *tensors) {
        extents_.clear();
        bind(tensor.indices);
        visit(*tensor.body);
      }
    }
    return std::move(found_);
  }

 private:
  void bind(const std::vector<syntax::Binding>& bindings) {
    for (const syntax::Binding& binding : bindings)
      extents_[binding.is_pack ? binding.name + "..." : binding.name] = plain_name(binding.extent);
  }

  bool is_dimension(const std::string& name) const {
    return std::ranges::any_of(op_.inputs, [&](const syntax::Input& input) {
      return std::ranges::any_of(input.dims, [&](const auto& dim) { return plain_name(dim) == name; });
    });
  }

  void visit(const Scalar& node) {
    if (node.kind == Scalar::Kind::Case) return;  // its condition may bound the indices
    bind(node.bound);
    if (node.kind == Scalar::Kind::Read) check(node);
    for (const syntax::ScalarPtr& operand : node.operands) visit(*operand);
  }

  void check(const Scalar& read) {
    const auto input = std::ranges::find(op_.inputs, read.name, &syntax::Input::name);
    if (input == op_.inputs.end() || input->dims.size() != read.indices.size()) return;
    for (std::size_t k = 0; k < read.indices.size(); ++k) {
      const std::string index = plain_name(read.indices[k]), dim = plain_name(input->dims[k]);
      const auto extent = extents_.find(index);
      if (index.empty() || dim.empty() || extent == extents_.end()) continue;
      if (extent->second.empty() || extent->second == dim || !is_dimension(extent->second)) continue;
      found_.push_back({place(op_.origin, read.place.line, read.place.column),
                        "operator '" + op_.name + "' reads dimension " + dim + " of '" + read.name +
                            "' at an index over " + extent->second +
                            ", and nothing relates the two: elements outside of '" + read.name +
                            "' are 0; if the sizes are equal, give both dimensions one name"});
    }
  }

  const syntax::Operator& op_;
  std::map<std::string, std::string> extents_;  // of an index, or of a pack of indices
  std::vector<DefinitionWarning> found_;
};

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

std::vector<DefinitionWarning> find_unrelated_reads(const syntax::Operator& op) {
  return op.conditions.empty() ? ReadFinder(op).run() : std::vector<DefinitionWarning>();
}

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
