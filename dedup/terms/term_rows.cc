#include "dedup/terms/term_rows.h"

#include <algorithm>
#include <type_traits>

#include "runtime/files/file_integrity.h"
#include "runtime/process/interrupt.h"
#include "runtime/text/error.h"

namespace rulemill::dedup {
namespace {

/// Collective. The first rank reads the dictionary and verifies it against the manifest.
fingerprint::Dictionary shared_dictionary(const std::filesystem::path& out, const runtime::Communicator& communicator) {
  std::string text;
  if (communicator.is_root()) text = runtime::read_verified(runtime::Manifest(out), fingerprint::dictionary_file);
  communicator.broadcast(text);
  return fingerprint::Dictionary::parse(text, (out / fingerprint::dictionary_file).string());
}

}  // namespace

TermRows::TermRows(const std::filesystem::path& out, const std::string& digest, const fingerprint::Summary& summary,
                   const enumerate::Renamings& renamings, const runtime::Communicator& communicator)
    : out_(out),
      digest_(digest),
      summary_(summary),
      renamings_(renamings),
      communicator_(communicator),
      dictionary_(shared_dictionary(out, communicator)),
      rows_per_shard_(fingerprint::rows_per_shard(summary.rows)) {
  std::uint64_t first = 0;
  for (const fingerprint::LevelStatistics& level : summary.levels) {
    first_of_level_.push_back(first);
    first += level.rows;
  }
  first_of_level_.push_back(first);
  read_lower_levels();
}

void TermRows::read_lower_levels() {
  static_assert(std::is_trivially_copyable_v<TermRow>, "rows are in memory that ranks share");
  const std::uint64_t count = first_of_level_[last_level()];
  lower_levels_memory_ = runtime::NodeMemory(count * sizeof(TermRow), communicator_);
  const std::span rows(reinterpret_cast<TermRow*>(lower_levels_memory_.data()), count);
  const runtime::Communicator readers =
      lower_levels_memory_.is_shared() ? communicator_.node() : runtime::Communicator::self();
  const auto stride = static_cast<std::uint64_t>(readers.size());
  for (auto s = static_cast<std::uint64_t>(readers.rank()); s * rows_per_shard_ < count; s += stride) {
    const fingerprint::ShardRows shard = read(s);
    for (std::size_t i = 0; i < shard.size() && shard.first + i < count; ++i) rows[shard.first + i] = row_at(shard, i);
  }
  readers.barrier();
  lower_levels_ = rows;
  // In id order, arguments precede the terms that use them.
  for (TermId t = 0; readers.rank() == 0 && t < count; ++t) store_variables(t, rows[t]);
  readers.barrier();
}

void TermRows::store_variables(TermId t, TermRow& row) const {
  const enumerate::VariableSet found = variables(t, row);
  row.variables = static_cast<std::uint32_t>(found);
  if (row.variables != found) row.variables = 0;
}

std::uint64_t TermRows::resident_bytes(const fingerprint::Summary& summary, int ranks_per_node) {
  const std::uint64_t last = summary.levels.back().rows;
  return (summary.rows - last) * sizeof(TermRow) / static_cast<std::uint64_t>(ranks_per_node) +
         last * sizeof(std::uint32_t);
}

fingerprint::ShardRows TermRows::read(std::uint64_t shard) const {
  fingerprint::ShardRows rows =
      fingerprint::read_shard(out_ / fingerprint::shard_name(shard), digest_, fingerprint::ShardColumns::Terms);
  const std::uint64_t expected = std::min(rows_per_shard_, summary_.rows - shard * rows_per_shard_);
  if (rows.first != shard * rows_per_shard_ || rows.size() != expected ||
      rows.arguments_width > TermRow::max_arguments || rows.sizes_width > TermRow::max_sizes)
    throw runtime::InputError((out_ / fingerprint::shard_name(shard)).string(), "contains terms of another shard");
  return rows;
}

TermRow TermRows::row_at(const fingerprint::ShardRows& rows, std::size_t i) const {
  TermRow row;
  row.node = rows.node[i];
  row.instance = rows.instance[i];
  row.type = rows.type[i];
  row.output = rows.output[i];
  row.level = rows.level[i];
  row.orbit = rows.orbit[i];
  row.renaming = rows.renaming[i];
  row.symmetries = rows.symmetries[i];
  row.arguments.fill(no_id);
  row.sizes.fill(no_id);
  std::copy_n(rows.arguments.begin() + static_cast<std::ptrdiff_t>(i * rows.arguments_width), rows.arguments_width,
              row.arguments.begin());
  std::copy_n(rows.sizes.begin() + static_cast<std::ptrdiff_t>(i * rows.sizes_width), rows.sizes_width,
              row.sizes.begin());
  return row;
}

std::uint32_t TermRows::level(TermId t) const {
  const auto above = std::ranges::upper_bound(first_of_level_, std::uint64_t{t});
  return static_cast<std::uint32_t>(above - first_of_level_.begin() - 1);
}

int TermRows::owner(std::uint64_t shard) const {
  return static_cast<int>(shard % static_cast<std::uint64_t>(communicator_.size()));
}

std::vector<FingerprintRecord> TermRows::records(std::uint64_t partition, std::uint64_t partitions) const {
  std::vector<FingerprintRecord> records;
  for (std::uint64_t shard = 0; shard < summary_.shards; ++shard) {
    if (owner(shard) != communicator_.rank() || runtime::is_interrupted()) continue;
    const std::filesystem::path path = out_ / fingerprint::shard_name(shard);
    const fingerprint::ShardRows rows = fingerprint::read_shard(path, digest_, fingerprint::ShardColumns::Fingerprints);
    if (rows.first != shard * rows_per_shard_)
      throw runtime::InputError(path.string(), "contains terms of another shard");
    for (std::size_t i = 0; i < rows.orbit.size(); ++i) {
      const auto term = static_cast<TermId>(rows.first + i);
      // The high half of the word assigns the ranks of a partition.
      if (rows.orbit[i] != term || (rows.fingerprint[2 * i + 1] & 0xffffffffu) % partitions != partition) continue;
      records.push_back({rows.fingerprint[2 * i], rows.fingerprint[2 * i + 1], term, rows.distinct_values[i],
                         rows.type[i], rows.symmetries[i] != 0});
    }
  }
  return records;
}

void TermRows::clear_fetched() {
  fetched_index_.clear();
  fetched_index_.shrink_to_fit();
  fetched_.clear();
  fetched_.shrink_to_fit();
}

enumerate::VariableSet TermRows::variables(TermId t, const TermRow& row) const {
  if (row.variables != 0) return row.variables;
  if (row.instance == fingerprint::no_instance) return enumerate::VariableSet{1} << t;
  enumerate::VariableSet found = 0;
  for (const std::uint32_t argument : row.arguments) {
    if (argument != no_id) found |= variables(argument);
  }
  return found;
}

std::uint8_t TermRows::VariableMap::operator()(std::uint8_t variable) const {
  const auto swap = [&](std::uint8_t s) {
    const auto& [a, b] = (*swaps_)[s];
    variable = variable == a ? b : variable == b ? a : variable;
  };
  for (const std::uint8_t s : forward_) swap(s);
  for (auto s = inverse_.rbegin(); s != inverse_.rend(); ++s) swap(*s);
  return variable;
}

TermRows::VariableMap TermRows::variable_map(const RenamedTerm& renamed) const {
  VariableMap map;
  map.swaps_ = &renamings_.swaps();
  if (renamed.renaming != 0) map.forward_ = renamings_.of(variables(renamed.term)).swaps_of(renamed.renaming);
  if (renamed.inverse_term != no_id && renamed.inverse_renaming != 0)
    map.inverse_ = renamings_.of(variables(renamed.inverse_term)).swaps_of(renamed.inverse_renaming);
  return map;
}

void TermRows::fetch(std::vector<TermId> terms) {
  if (fetched_index_.empty()) fetched_index_.assign(summary_.rows - lower_levels_.size(), no_id);
  std::erase_if(
      terms, [&](TermId t) { return t < lower_levels_.size() || fetched_index_[t - lower_levels_.size()] != no_id; });
  std::ranges::sort(terms);
  terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
  fetched_.reserve(fetched_.size() + terms.size());
  const auto add = [&](TermId t, const TermRow& row) {
    fetched_index_[t - lower_levels_.size()] = static_cast<std::uint32_t>(fetched_.size());
    fetched_.push_back(row);
    store_variables(t, fetched_.back());
  };
  fingerprint::ShardRows shard;
  std::uint64_t loaded = no_id;
  const auto read_row = [&](TermId t) {
    if (loaded != t / rows_per_shard_) {
      loaded = t / rows_per_shard_;
      shard = read(loaded);
    }
    return row_at(shard, t - shard.first);
  };
  // Rows of this rank's shards, on one rank all of them, are not sent.
  std::vector<std::vector<TermId>> requested(static_cast<std::size_t>(communicator_.size()));
  for (const TermId t : terms) {
    const int from = owner(t / rows_per_shard_);
    if (from == communicator_.rank())
      add(t, read_row(t));
    else
      requested[static_cast<std::size_t>(from)].push_back(t);
  }
  std::vector<runtime::Bytes> requests, replies;
  for (const std::vector<TermId>& of_rank : requested)
    runtime::append_bytes(requests.emplace_back(), runtime::bytes_of(of_rank));
  for (const runtime::Bytes& bytes : communicator_.all_to_all(std::move(requests))) {
    runtime::Bytes& reply = replies.emplace_back();
    for (const TermId t : runtime::values_of<TermId>(bytes)) runtime::append_value(reply, read_row(t));
  }
  std::size_t from = 0;
  for (const runtime::Bytes& bytes : communicator_.all_to_all(std::move(replies))) {
    const std::vector<TermRow> rows = runtime::values_of<TermRow>(bytes);
    for (std::size_t i = 0; i < rows.size(); ++i) add(requested[from][i], rows[i]);
    ++from;
  }
}

}  // namespace rulemill::dedup
