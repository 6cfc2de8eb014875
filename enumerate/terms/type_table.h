// An intern table of concrete tensor types.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace rulemill::enumerate {

using TypeId = std::uint16_t;
using Dims = std::vector<std::int64_t>;

class TypeTable {
 public:
  /// Throws Error after 65,535 types.
  TypeId intern(const Dims& shape);
  const Dims& shape(TypeId id) const { return shapes_[id]; }
  std::uint64_t elements(TypeId id) const { return elements_[id]; }
  std::uint32_t rank(TypeId id) const { return static_cast<std::uint32_t>(shapes_[id].size()); }
  std::size_t size() const { return shapes_.size(); }

 private:
  std::vector<Dims> shapes_;
  std::vector<std::uint64_t> elements_;
  std::map<Dims, TypeId> ids_;
};

std::uint64_t element_count(const Dims& shape);

}  // namespace rulemill::enumerate
