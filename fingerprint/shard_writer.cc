#include "fingerprint/shard_writer.h"

#include <algorithm>

#include "runtime/mpi/parallel_for_ranks.h"
#include "runtime/text/byte_lists.h"
#include "runtime/text/error.h"

namespace rulemill::fingerprint {

using runtime::Json;

namespace {

constexpr std::uint64_t rows_per_chunk = std::uint64_t{1} << 11;
constexpr std::uint64_t chunked_shards_per_thread = 2;  // of all ranks
constexpr double seconds_per_save = 1;

runtime::ManifestEntry shard_entry(const Json& shard) {
  runtime::Attributes statistics;
  for (const char* name : {"rows", "products", "nodes", "terms"}) statistics[name] = shard[name].get<std::uint64_t>();
  return {shard["name"], fingerprint_stage, shard["bytes"], shard["checksum"], statistics};
}

}  // namespace

ShardWriter::ShardWriter(Table table, const ShardBuilder& builder, const runtime::ThreadPool& thread_pool,
                         const runtime::Communicator& communicator, runtime::Manifest* manifest)
    : table_(std::move(table)),
      builder_(builder),
      thread_pool_(thread_pool),
      communicator_(communicator),
      manifest_(manifest),
      written_(Json::array()) {}

std::uint64_t ShardWriter::end_term(std::uint64_t shard) const {
  return std::min(table_.rows, (shard + 1) * table_.rows_per_shard);
}

void ShardWriter::write(const std::vector<std::uint64_t>& shards, bool divisible, runtime::Progress& progress) {
  const std::uint64_t threads = communicator_.sum(std::uint64_t{thread_pool_.threads()});
  const std::uint64_t divided =
      divisible ? std::min<std::uint64_t>(shards.size(), chunked_shards_per_thread * threads) : 0;
  const std::size_t whole = shards.size() - divided;
  const std::vector<std::uint64_t> last(shards.begin() + static_cast<std::ptrdiff_t>(whole), shards.end());
  const std::vector<ShardChunk> chunks = chunks_of(last);
  const auto make = [&](std::size_t i, unsigned) {
    if (i < whole)
      make_shard(shards[i]);
    else
      evaluate_chunk(chunks[i - whole]);
  };
  const runtime::RankReports reports{[&] { return take_written(); },
                                     [&](std::string_view text) { list(text, progress); }};
  try {
    runtime::parallel_for_ranks({fingerprint_stage, whole + chunks.size()}, make, thread_pool_, communicator_, reports);
    assemble(last);
  } catch (const runtime::Interrupted&) {
    save();
    throw;
  }
  const std::string text = take_written();
  for (const runtime::Bytes& bytes : communicator_.gather(runtime::bytes_of(text))) {
    if (!bytes.empty()) list(runtime::text_of(bytes), progress);
  }
  save();
  runtime::throw_if_any_rank_interrupted(fingerprint_stage, communicator_);
}

std::vector<ShardWriter::ShardChunk> ShardWriter::chunks_of(const std::vector<std::uint64_t>& shards) const {
  std::vector<ShardChunk> chunks;
  for (std::size_t s = 0; s < shards.size(); ++s) {
    const ShardBuilder::RowInterval rows = builder_.rows_of_terms(first_term(shards[s]), end_term(shards[s]));
    for (std::uint64_t first = rows.first; first < rows.last; first += rows_per_chunk)
      chunks.push_back({s, {first, std::min(rows.last, first + rows_per_chunk)}});
  }
  return chunks;
}

void ShardWriter::make_shard(std::uint64_t shard) {
  ShardBuilder::Chunk rows = builder_.allocate(builder_.rows_of_terms(first_term(shard), end_term(shard)));
  const std::uint64_t products = builder_.evaluate(rows);
  write_shard_file(shard, rows, products);
}

void ShardWriter::evaluate_chunk(const ShardChunk& chunk) {
  ShardBuilder::Chunk evaluated = builder_.allocate(chunk.rows);
  runtime::Bytes rows;
  std::uint64_t count = 0;
  const std::uint64_t products = builder_.evaluate(evaluated);
  for (std::size_t at = 0; at < evaluated.results.signatures.size(); ++at) {
    if (evaluated.results.signatures[at] == enumerate::no_id) continue;
    evaluated.results.append(at, rows);
    ++count;
  }
  const std::scoped_lock lock(results_mutex_);
  runtime::Bytes& all = chunks_[chunk.shard];
  runtime::append_value(all, products);
  runtime::append_value(all, count);
  runtime::append_bytes(all, rows);
}

void ShardWriter::assemble(const std::vector<std::uint64_t>& shards) {
  const auto ranks = static_cast<std::size_t>(communicator_.size());
  std::vector<runtime::Bytes> outgoing(ranks);
  for (const auto& [shard, bytes] : std::exchange(chunks_, {})) {
    runtime::Bytes& to = outgoing[shard % ranks];
    runtime::append_value(to, std::uint64_t{shard});
    runtime::append_value(to, std::uint64_t{bytes.size()});
    runtime::append_bytes(to, bytes);
  }
  const std::vector<runtime::Bytes> incoming = communicator_.all_to_all(std::move(outgoing));
  std::map<std::size_t, std::vector<runtime::ByteView>> chunks;
  for (std::size_t s = static_cast<std::size_t>(communicator_.rank()); s < shards.size(); s += ranks) chunks[s];
  for (const runtime::Bytes& bytes : incoming) {
    for (runtime::ByteView view = bytes; !view.empty();) {
      const auto shard = runtime::take_value<std::uint64_t>(view);
      const auto size = runtime::take_value<std::uint64_t>(view);
      chunks.at(shard).push_back(runtime::take_bytes(view, size));
    }
  }
  std::vector<std::size_t> own;
  for (const auto& [shard, unused] : chunks) own.push_back(shard);
  thread_pool_.run_interruptible(
      own.size(), [&](std::size_t i, unsigned) { make_shard_from_chunks(shards[own[i]], chunks.at(own[i])); });
}

void ShardWriter::make_shard_from_chunks(std::uint64_t shard, const std::vector<runtime::ByteView>& chunks) {
  ShardBuilder::Chunk rows = builder_.allocate(builder_.rows_of_terms(first_term(shard), end_term(shard)));
  std::uint64_t products = 0;
  for (runtime::ByteView view : chunks) {
    while (!view.empty()) {
      products += runtime::take_value<std::uint64_t>(view);
      for (auto left = runtime::take_value<std::uint64_t>(view); left > 0; --left) rows.results.take(view);
    }
  }
  write_shard_file(shard, rows, products);
}

void ShardWriter::write_shard_file(std::uint64_t shard, const ShardBuilder::Chunk& evaluated, std::uint64_t products) {
  ShardRows rows;
  const ShardBuilder::Counts counts = builder_.build(first_term(shard), end_term(shard), evaluated, rows);
  const runtime::Stopwatch watch;
  const runtime::TableSummary written = write_shard(table_.out / shard_name(shard), rows, table_.provenance);
  const std::scoped_lock lock(results_mutex_);
  seconds_ += watch.seconds();
  written_.push_back({{"name", shard_name(shard)},
                      {"bytes", written.bytes},
                      {"checksum", written.checksum},
                      {"rows", written.rows},
                      {"products", products},
                      {"nodes", counts.nodes},
                      {"terms", counts.terms}});
}

std::string ShardWriter::take_written() {
  const std::scoped_lock lock(results_mutex_);
  return written_.empty() ? std::string() : runtime::to_text(std::exchange(written_, Json::array()));
}

void ShardWriter::list(std::string_view written, runtime::Progress& progress) {
  const Json shards = runtime::parse_json(written);
  for (const Json& shard : shards) manifest_->add(shard_entry(shard));
  progress.advance(shards.size());
  if (since_save_.seconds() < seconds_per_save) return;
  save();
}

void ShardWriter::save() {
  if (manifest_ == nullptr) return;
  manifest_->save();
  since_save_ = {};
}

}  // namespace rulemill::fingerprint
