#include "dedup/slice.h"

#include <cstring>

#include "runtime/error.h"

namespace rulemill::dedup {
namespace {

template <class T>
void append_list(runtime::Bytes& bytes, const std::vector<T>& values) {
  runtime::append_value(bytes, std::uint64_t{values.size()});
  const runtime::ByteView view = runtime::bytes_of(values);
  bytes.insert(bytes.end(), view.begin(), view.end());
}

std::uint64_t take_number(runtime::ByteView& bytes) {
  std::uint64_t value = 0;
  RM_CHECK(bytes.size() >= sizeof value, "a slice's bytes end early");
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes = bytes.subspan(sizeof value);
  return value;
}

template <class T>
std::vector<T> take_list(runtime::ByteView& bytes) {
  const std::uint64_t count = take_number(bytes);
  RM_CHECK(count <= bytes.size() / sizeof(T), "a slice's bytes end early");
  std::vector<T> values = runtime::values_of<T>(bytes.first(count * sizeof(T)));
  bytes = bytes.subspan(count * sizeof(T));
  return values;
}

void add_counts(std::vector<std::uint64_t>& total, const std::vector<std::uint64_t>& counts) {
  total.resize(std::max(total.size(), counts.size()));
  for (std::size_t i = 0; i < counts.size(); ++i) total[i] += counts[i];
}

}  // namespace

Slice make_slice(const TermRows& rows, const TermClasses& classes, const Superseded& superseded,
                 const Vocabulary& words, const runtime::Workers& workers) {
  Slice slice;
  slice.classes = classes.classes.size();
  slice.new_values = classes.new_values;
  slice.by_type = classes.by_type;
  RawPairs raw = pair_terms(rows, classes, superseded, words, workers);
  slice.pairs = raw.pairs.size();
  slice.alternatives = std::move(raw.alternatives);
  const auto source = [&](std::size_t i) {
    return graph_of(rows, {&raw.pairs[i].first, 1}, {&raw.pairs[i].second, 1});
  };
  slice.candidates = best_of(raw.pairs.size(), source, words, workers, &slice.renamed);
  return slice;
}

void add(Slice& total, Slice slice) {
  total.classes += slice.classes;
  total.pairs += slice.pairs;
  total.renamed += slice.renamed;
  add_counts(total.new_values, slice.new_values);
  add_counts(total.by_type, slice.by_type);
  total.alternatives.insert(total.alternatives.end(), slice.alternatives.begin(), slice.alternatives.end());
  append(total.candidates, std::move(slice.candidates));
}

runtime::Bytes to_bytes(const Slice& slice) {
  runtime::Bytes bytes;
  for (const std::uint64_t count : {slice.classes, slice.pairs, slice.renamed}) runtime::append_value(bytes, count);
  append_list(bytes, slice.new_values);
  append_list(bytes, slice.by_type);
  append_list(bytes, slice.alternatives);
  append(bytes, slice.candidates);
  return bytes;
}

void add_from(Slice& total, runtime::ByteView bytes) {
  while (!bytes.empty()) {
    Slice slice;
    slice.classes = take_number(bytes);
    slice.pairs = take_number(bytes);
    slice.renamed = take_number(bytes);
    slice.new_values = take_list<std::uint64_t>(bytes);
    slice.by_type = take_list<std::uint64_t>(bytes);
    slice.alternatives = take_list<Alternative>(bytes);
    read(bytes, slice.candidates);
    add(total, std::move(slice));
  }
}

}  // namespace rulemill::dedup
