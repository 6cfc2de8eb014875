#include <algorithm>
#include <map>

#include "algebra/language/lexer.h"
#include "algebra/library/definition_warnings.h"

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

}  // namespace

std::vector<DefinitionWarning> find_unrelated_reads(const syntax::Operator& op) {
  return op.conditions.empty() ? ReadFinder(op).run() : std::vector<DefinitionWarning>();
}

}  // namespace rulemill::algebra
