#include "dedup/join/bucket.h"

#include <algorithm>

#include "runtime/text/byte_lists.h"

namespace rulemill::dedup {
namespace {

void add_counts(std::vector<std::uint64_t>& total, const std::vector<std::uint64_t>& counts) {
  total.resize(std::max(total.size(), counts.size()));
  for (std::size_t i = 0; i < counts.size(); ++i) total[i] += counts[i];
}

}  // namespace

Bucket make_bucket(const TermRows& rows, const TermClasses& classes, const SupersededTerms& superseded,
                   const Vocabulary& vocabulary, const runtime::ThreadPool& thread_pool) {
  Bucket bucket;
  bucket.classes = classes.classes.size();
  bucket.new_classes = classes.new_classes;
  bucket.by_type = classes.by_type;
  RawPairs raw = pair_terms(rows, classes, superseded, vocabulary, thread_pool);
  bucket.pairs = raw.pairs.size();
  bucket.alternatives = std::move(raw.alternatives);
  const auto source = [&](std::size_t i) {
    return make_graph(rows, {&raw.pairs[i].first, 1}, {&raw.pairs[i].second, 1});
  };
  bucket.candidates = deduplicate(raw.pairs.size(), source, vocabulary, thread_pool, &bucket.unique_up_to_renaming);
  return bucket;
}

void add(Bucket& total, Bucket bucket) {
  total.classes += bucket.classes;
  total.pairs += bucket.pairs;
  total.unique_up_to_renaming += bucket.unique_up_to_renaming;
  add_counts(total.new_classes, bucket.new_classes);
  add_counts(total.by_type, bucket.by_type);
  total.alternatives.insert(total.alternatives.end(), bucket.alternatives.begin(), bucket.alternatives.end());
  append(total.candidates, std::move(bucket.candidates));
}

runtime::Bytes to_bytes(const Bucket& bucket) {
  runtime::Bytes bytes;
  for (const std::uint64_t count : {bucket.classes, bucket.pairs, bucket.unique_up_to_renaming})
    runtime::append_value(bytes, count);
  runtime::append_list(bytes, bucket.new_classes);
  runtime::append_list(bytes, bucket.by_type);
  runtime::append_list(bytes, bucket.alternatives);
  append(bytes, bucket.candidates);
  return bytes;
}

void add_from(Bucket& total, runtime::ByteView bytes) {
  while (!bytes.empty()) {
    Bucket bucket;
    bucket.classes = runtime::take_value<std::uint64_t>(bytes);
    bucket.pairs = runtime::take_value<std::uint64_t>(bytes);
    bucket.unique_up_to_renaming = runtime::take_value<std::uint64_t>(bytes);
    bucket.new_classes = runtime::take_list<std::uint64_t>(bytes);
    bucket.by_type = runtime::take_list<std::uint64_t>(bytes);
    bucket.alternatives = runtime::take_list<Alternative>(bytes);
    read(bytes, bucket.candidates);
    add(total, std::move(bucket));
  }
}

}  // namespace rulemill::dedup
