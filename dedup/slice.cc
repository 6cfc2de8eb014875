#include "dedup/slice.h"

#include <algorithm>

#include "runtime/byte_lists.h"

namespace rulemill::dedup {
namespace {

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
  runtime::append_list(bytes, slice.new_values);
  runtime::append_list(bytes, slice.by_type);
  runtime::append_list(bytes, slice.alternatives);
  append(bytes, slice.candidates);
  return bytes;
}

void add_from(Slice& total, runtime::ByteView bytes) {
  while (!bytes.empty()) {
    Slice slice;
    slice.classes = runtime::take_value<std::uint64_t>(bytes);
    slice.pairs = runtime::take_value<std::uint64_t>(bytes);
    slice.renamed = runtime::take_value<std::uint64_t>(bytes);
    slice.new_values = runtime::take_list<std::uint64_t>(bytes);
    slice.by_type = runtime::take_list<std::uint64_t>(bytes);
    slice.alternatives = runtime::take_list<Alternative>(bytes);
    read(bytes, slice.candidates);
    add(total, std::move(slice));
  }
}

}  // namespace rulemill::dedup
