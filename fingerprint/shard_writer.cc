#include "fingerprint/shard_writer.h"

#include <algorithm>

#include "runtime/mpi/parallel_for_ranks.h"
#include "runtime/text/byte_lists.h"
#include "runtime/text/error.h"

namespace rulemill::fingerprint {

using enumerate::no_id;
using enumerate::SignatureId;
using enumerate::TermId;

ShardBuilder::ShardBuilder(const enumerate::Profile& profile, const LevelRunner& runner) : runner_(runner) {
  const auto& signatures = runner.enumerator().signatures();
  std::map<const algebra::OperatorInstance*, std::uint16_t> numbers;
  for (SignatureId s = 0; s < signatures.size(); ++s) {
    const enumerate::Signature& signature = signatures[s];
    const auto [found, added] = numbers.try_emplace(signature.instance, static_cast<std::uint16_t>(numbers.size()));
    if (added)
      dictionary_.instances.push_back(
          {signature.instance->operator_name, signature.instance->parameters, *signature.ranks});
    instance_.push_back(found->second);
    sizes_width_ = std::max(sizes_width_, static_cast<std::uint32_t>(signature.sizes.size()));
    max_outputs_ = std::max<std::uint64_t>(max_outputs_, signature.outputs.size());
  }
  for (enumerate::TypeId t = 0; t < runner.enumerator().types().size(); ++t)
    dictionary_.types.push_back(runner.enumerator().types().shape(t));
  dictionary_.degrees = runner.degree_bounds();
  for (const enumerate::Variable& variable : profile.variables) dictionary_.variables.push_back(variable.name);
}

ShardBuilder::RowInterval ShardBuilder::rows_of_terms(std::uint64_t first, std::uint64_t last) const {
  const std::uint64_t known = runner_.enumerator().terms().terms();
  if (last <= known) return {};
  const std::uint64_t first_row = std::max(first, known) - known;
  // Also evaluates a node whose first output is in the shard before.
  return {first_row - std::min<std::uint64_t>(first_row, max_outputs_ - 1), last - known};
}

ShardBuilder::Chunk ShardBuilder::allocate(RowInterval rows) const {
  Chunk chunk{rows, {}};
  chunk.results.resize(rows.first, rows.last - rows.first + max_outputs_ - 1, runner_.enumerator().arity_stride());
  return chunk;
}

std::uint64_t ShardBuilder::evaluate(Chunk& chunk) const {
  const auto [first, last] = chunk.rows;
  return first < last ? runner_.evaluate(first, last, chunk.results) : 0;
}

ShardBuilder::Counts ShardBuilder::build(std::uint64_t first, std::uint64_t last, const Chunk& chunk,
                                         ShardRows& rows) const {
  const auto& enumerator = runner_.enumerator();
  const std::uint64_t known = enumerator.terms().terms();
  rows.first = first;
  rows.arguments_width = enumerator.arity_stride();
  rows.sizes_width = sizes_width_;
  rows.resize(last - first);
  for (std::uint64_t t = first; t < std::min(last, known); ++t)
    copy_stored_row(static_cast<TermId>(t), t - first, rows);
  if (last <= known) return {};

  const std::uint64_t first_row = std::max(first, known) - known;
  const std::uint64_t begin = chunk.rows.first;
  const EvaluatedRows& results = chunk.results;
  Counts counts;
  std::uint64_t node = enumerator.terms().nodes() + enumerator.nodes_before(begin) - 1;
  for (std::uint64_t r = begin, output = 0; r < chunk.rows.last; ++r) {
    const SignatureId s = results.signatures[r - begin];
    if (s == no_id) continue;  // an output of a node whose first output is in an earlier chunk
    const enumerate::Signature& signature = enumerator.signatures()[s];
    const bool starts = output == 0;
    node += starts ? 1 : 0;
    if (r >= first_row) {
      const std::size_t row = known + r - first;
      set_node(s, enumerator.level(), output, results.arguments.data() + (r - begin) * enumerator.arity_stride(), row,
               rows);
      rows.node[row] = static_cast<std::uint32_t>(node);
      rows.orbit[row] = static_cast<std::uint32_t>(known + r);
      rows.orbit_size[row] = results.orbit_sizes[r - begin];
      set_fingerprint(results.fingerprints[r - begin], row, rows);
      counts.nodes += starts ? results.orbit_sizes[r - begin] : 0;
      counts.terms += results.orbit_sizes[r - begin];
    }
    output = output + 1 == signature.outputs.size() ? 0 : output + 1;
  }
  return counts;
}

void ShardBuilder::set_fingerprint(const OrbitFingerprint& fingerprint, std::size_t row, ShardRows& rows) {
  rows.renaming[row] = fingerprint.renaming;
  rows.distinct_values[row] = fingerprint.distinct_values;
  rows.symmetries[row] = fingerprint.symmetries;
  rows.fingerprint[2 * row] = fingerprint.minimum.high;
  rows.fingerprint[2 * row + 1] = fingerprint.minimum.low;
}

void ShardBuilder::set_node(SignatureId s, std::uint32_t level, std::uint64_t output, const TermId* arguments,
                            std::size_t row, ShardRows& rows) const {
  const enumerate::Signature& signature = runner_.enumerator().signatures()[s];
  rows.level[row] = static_cast<std::uint8_t>(level);
  rows.output[row] = static_cast<std::uint8_t>(output);
  rows.type[row] = signature.outputs[output];
  rows.instance[row] = instance_[s];
  std::copy_n(arguments, signature.arguments.size(),
              rows.arguments.begin() + static_cast<std::ptrdiff_t>(row * rows.arguments_width));
  for (std::size_t i = 0; i < signature.sizes.size(); ++i)
    rows.sizes[row * rows.sizes_width + i] = static_cast<std::uint32_t>(signature.sizes[i]);
}

void ShardBuilder::copy_stored_row(TermId t, std::size_t row, ShardRows& rows) const {
  const auto& terms = runner_.enumerator().terms();
  if (!terms.is_variable(t)) {
    const enumerate::NodeId n = terms.node(t);
    set_node(terms.signature(n), terms.level(t), terms.output(t), terms.arguments(n).data(), row, rows);
    rows.node[row] = n;
  }
  rows.type[row] = terms.type(t);
  rows.orbit[row] = runner_.orbits()[t];
  const bool named = t < runner_.enumerator().expanded_terms();
  rows.orbit_size[row] = named ? 1 : runner_.orbit_sizes()[terms.node(t)];
  set_fingerprint(runner_.fingerprints()[t], row, rows);
}

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
