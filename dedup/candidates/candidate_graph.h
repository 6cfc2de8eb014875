// The two sides of a candidate as one small graph, in which they share leaves (variables) and nodes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "dedup/terms/term_rows.h"
#include "runtime/text/bytes.h"
#include "runtime/text/error.h"

namespace rulemill::dedup {

/// A list of at most N trivially destructible values without heap allocation, because millions of candidates are copied
/// and compared. Storage beyond its end is not initialized, and copied in short lists only.
template <class T, std::size_t N>
class BoundedList {
  static_assert(std::is_trivially_destructible_v<T>, "elements are never destroyed");
  /// Short lists are copied as a whole, which takes a few instructions.
  static constexpr bool is_short = std::is_trivially_copyable_v<T> && sizeof(T) * N <= 64;

 public:
  BoundedList() {}
  BoundedList(const BoundedList& other) requires is_short = default;
  BoundedList& operator=(const BoundedList& other) requires is_short = default;
  BoundedList(const BoundedList& other) : size_(other.size_) { std::uninitialized_copy_n(other.data_, size_, data_); }
  BoundedList& operator=(const BoundedList& other) {
    if (this == &other) return *this;
    size_ = other.size_;
    std::uninitialized_copy_n(other.data_, size_, data_);
    return *this;
  }

  void push_back(const T& value) {
    RM_CHECK(size_ < N, "a candidate has more parts than it can hold");
    std::construct_at(data_ + size_, value);
    ++size_;
  }
  void resize(std::size_t size, const T& fill = {}) {
    RM_CHECK(size <= N, "a candidate has more parts than it can hold");
    for (; size_ < size; ++size_) std::construct_at(data_ + size_, fill);
    size_ = static_cast<std::uint8_t>(size);
  }
  void clear() { size_ = 0; }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1u]; }

  bool operator==(const BoundedList& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

 private:
  union {
    T data_[N];
  };
  std::uint8_t size_ = 0;
};

/// A leaf or an output of a node.
struct GraphTerm {
  bool is_leaf = false;
  std::uint8_t output = 0;
  std::uint8_t index = 0;
  bool operator==(const GraphTerm&) const = default;
  auto operator<=>(const GraphTerm&) const = default;
};

inline constexpr std::size_t max_graph_nodes = 32;
inline constexpr std::size_t max_graph_leaves = 48;
inline constexpr std::size_t max_graph_outputs = 4;

struct GraphNode {
  std::uint16_t instance = 0;                           // index in the dictionary
  BoundedList<std::uint16_t, max_graph_outputs> types;  // by output; no_instance if unknown
  std::uint16_t tag = 0;                                // data of an algorithm that reorders nodes
  BoundedList<GraphTerm, enumerate::max_arity> arguments;
  BoundedList<std::int64_t, TermRow::max_sizes> sizes;
};

/// Terms of one side.
using GraphSide = BoundedList<GraphTerm, max_graph_outputs>;

struct CandidateGraph {
  BoundedList<std::uint16_t, max_graph_leaves> leaves;  // types
  BoundedList<GraphNode, max_graph_nodes> nodes;        // arguments precede their users
  GraphSide source, target;

  std::uint16_t type(GraphTerm t) const { return t.is_leaf ? leaves[t.index] : nodes[t.index].types[t.output]; }
  /// Returns the nodes that the terms depend on; bit n is node n.
  std::uint32_t nodes_below(const GraphSide& terms) const;
  /// Returns the number of these nodes.
  std::size_t size(const GraphSide& terms) const;
  /// Removes unused leaves and nodes, merges equal nodes, and orders nodes by first use.
  void normalize();
};

/// Builds the graph of source ⇒ target from the term table.
CandidateGraph make_graph(const TermRows& rows, std::span<const RenamedTerm> source,
                          std::span<const RenamedTerm> target);

/// Serializes the graph.
void append(runtime::Bytes& bytes, const CandidateGraph& graph);
CandidateGraph read_graph(runtime::ByteView& bytes);

/// Serialized candidates, to save memory.
using PackedCandidates = std::vector<std::string>;
std::string pack(const CandidateGraph& graph);
CandidateGraph unpack(const std::string& packed);

}  // namespace rulemill::dedup
