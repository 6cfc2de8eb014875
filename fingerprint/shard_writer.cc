#include "fingerprint/shard_writer.h"

#include <algorithm>

#include "runtime/byte_lists.h"
#include "runtime/error.h"
#include "runtime/interrupt.h"
#include "runtime/shared_loop.h"

namespace rulemill::fingerprint {

using runtime::Json;

namespace {

constexpr std::uint64_t rows_a_piece = std::uint64_t{1} << 11;
constexpr std::uint64_t shards_in_pieces = 2;  // for each thread of all ranks
constexpr double seconds_between_saves = 1;

runtime::ManifestEntry entry_of(const Json& shard) {
  runtime::Attributes figures;
  for (const char* name : {"rows", "products", "nodes", "terms"}) figures[name] = shard[name].get<std::uint64_t>();
  return {shard["name"], fingerprint_stage, shard["bytes"], shard["checksum"], figures};
}

}  // namespace

ShardWriter::ShardWriter(Table table, const ShardBuilder& builder, const runtime::Workers& workers,
                         const runtime::Communicator& communicator, runtime::Manifest* manifest)
    : table_(std::move(table)),
      builder_(builder),
      workers_(workers),
      communicator_(communicator),
      manifest_(manifest),
      made_(Json::array()) {}

std::uint64_t ShardWriter::end_term(std::uint64_t shard) const {
  return std::min(table_.rows, (shard + 1) * table_.rows_each);
}

void ShardWriter::write(const std::vector<std::uint64_t>& shards, bool divisible, runtime::Progress& progress) {
  const std::uint64_t threads = communicator_.sum(std::uint64_t{workers_.threads()});
  const std::uint64_t divided = divisible ? std::min<std::uint64_t>(shards.size(), shards_in_pieces * threads) : 0;
  const std::size_t whole = shards.size() - divided;
  const std::vector<std::uint64_t> last(shards.begin() + static_cast<std::ptrdiff_t>(whole), shards.end());
  const std::vector<Piece> pieces = pieces_of(last);
  const auto make = [&](std::size_t i, unsigned) {
    if (i < whole)
      make_whole(shards[i]);
    else
      make_piece(pieces[i - whole]);
  };
  const runtime::Reports reports{[&] { return news(); }, [&](std::string_view text) { list(text, progress); }};
  try {
    runtime::run_shared({fingerprint_stage, whole + pieces.size()}, make, workers_, communicator_, reports);
    assemble(last);
  } catch (const runtime::Interrupted&) {
    save();
    throw;
  }
  const std::string text = news();
  for (const runtime::Bytes& bytes : communicator_.gather(runtime::bytes_of(text))) {
    if (!bytes.empty()) list(runtime::text_of(bytes), progress);
  }
  save();
  runtime::require_going_on(fingerprint_stage, communicator_);
}

std::vector<ShardWriter::Piece> ShardWriter::pieces_of(const std::vector<std::uint64_t>& shards) const {
  std::vector<Piece> pieces;
  for (std::size_t s = 0; s < shards.size(); ++s) {
    const ShardBuilder::Rows rows = builder_.rows_of_terms(first_term(shards[s]), end_term(shards[s]));
    for (std::uint64_t first = rows.first; first < rows.last; first += rows_a_piece)
      pieces.push_back({s, {first, std::min(rows.last, first + rows_a_piece)}});
  }
  return pieces;
}

void ShardWriter::make_whole(std::uint64_t shard) {
  ShardBuilder::Part part = builder_.part(builder_.rows_of_terms(first_term(shard), end_term(shard)));
  const std::uint64_t products = builder_.evaluate(part);
  finish(shard, part, products);
}

void ShardWriter::make_piece(const Piece& piece) {
  ShardBuilder::Part part = builder_.part(piece.rows);
  runtime::Bytes rows;
  std::uint64_t count = 0;
  const std::uint64_t products = builder_.evaluate(part);
  for (std::size_t at = 0; at < part.range.signatures.size(); ++at) {
    if (part.range.signatures[at] == enumerate::no_id) continue;
    part.range.append(at, rows);
    ++count;
  }
  const std::scoped_lock lock(one_of_made_);
  runtime::Bytes& all = done_[piece.shard];
  runtime::append_value(all, products);
  runtime::append_value(all, count);
  runtime::append_bytes(all, rows);
}

void ShardWriter::assemble(const std::vector<std::uint64_t>& shards) {
  const auto ranks = static_cast<std::size_t>(communicator_.size());
  std::vector<runtime::Bytes> outgoing(ranks);
  for (const auto& [shard, bytes] : std::exchange(done_, {})) {
    runtime::Bytes& to = outgoing[shard % ranks];
    runtime::append_value(to, std::uint64_t{shard});
    runtime::append_value(to, std::uint64_t{bytes.size()});
    runtime::append_bytes(to, bytes);
  }
  const std::vector<runtime::Bytes> incoming = communicator_.all_to_all(std::move(outgoing));
  std::map<std::size_t, std::vector<runtime::ByteView>> pieces;
  for (std::size_t s = static_cast<std::size_t>(communicator_.rank()); s < shards.size(); s += ranks) pieces[s];
  for (const runtime::Bytes& bytes : incoming) {
    for (runtime::ByteView view = bytes; !view.empty();) {
      const auto shard = runtime::take_value<std::uint64_t>(view);
      const auto size = runtime::take_value<std::uint64_t>(view);
      pieces.at(shard).push_back(runtime::take_bytes(view, size));
    }
  }
  std::vector<std::size_t> mine;
  for (const auto& [shard, unused] : pieces) mine.push_back(shard);
  workers_.run_unless_stopped(mine.size(),
                              [&](std::size_t i, unsigned) { make_of_pieces(shards[mine[i]], pieces.at(mine[i])); });
}

void ShardWriter::make_of_pieces(std::uint64_t shard, const std::vector<runtime::ByteView>& pieces) {
  ShardBuilder::Part part = builder_.part(builder_.rows_of_terms(first_term(shard), end_term(shard)));
  std::uint64_t products = 0;
  for (runtime::ByteView view : pieces) {
    while (!view.empty()) {
      products += runtime::take_value<std::uint64_t>(view);
      for (auto left = runtime::take_value<std::uint64_t>(view); left > 0; --left) part.range.take(view);
    }
  }
  finish(shard, part, products);
}

void ShardWriter::finish(std::uint64_t shard, const ShardBuilder::Part& part, std::uint64_t products) {
  TermRows rows;
  const ShardBuilder::Work work = builder_.build(first_term(shard), end_term(shard), part, rows);
  runtime::TableSummary written;
  {
    const std::scoped_lock lock(one_writer_);
    const runtime::Stopwatch watch;
    written = write_shard(table_.out / shard_name(shard), rows, table_.provenance);
    seconds_ += watch.seconds();
  }
  const std::scoped_lock lock(one_of_made_);
  made_.push_back({{"name", shard_name(shard)},
                   {"bytes", written.bytes},
                   {"checksum", written.checksum},
                   {"rows", written.rows},
                   {"products", products},
                   {"nodes", work.nodes},
                   {"terms", work.terms}});
}

std::string ShardWriter::news() {
  const std::scoped_lock lock(one_of_made_);
  return made_.empty() ? std::string() : std::exchange(made_, Json::array()).dump();
}

void ShardWriter::list(std::string_view news, runtime::Progress& progress) {
  const Json shards = Json::parse(news);
  for (const Json& shard : shards) manifest_->add(entry_of(shard));
  progress.advance(shards.size());
  if (since_save_.seconds() < seconds_between_saves) return;
  save();
}

void ShardWriter::save() {
  if (manifest_ == nullptr) return;
  manifest_->save();
  since_save_ = {};
}

}  // namespace rulemill::fingerprint
