#include "dedup/term_rows.h"

#include <algorithm>
#include <type_traits>

#include "runtime/error.h"
#include "runtime/file_check.h"
#include "runtime/interrupt.h"

namespace rulemill::dedup {

namespace {

/// Read by the first rank, which compares it with the manifest.
fingerprint::Dictionary shared_dictionary(const std::filesystem::path& out, const runtime::Communicator& communicator) {
  std::string text;
  if (communicator.is_root()) text = runtime::read_listed(runtime::Manifest(out), fingerprint::dictionary_file);
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
      rows_each_(fingerprint::shard_rows(summary.rows)) {
  std::uint64_t first = 0;
  for (const fingerprint::LevelFigures& level : summary.levels) {
    first_of_level_.push_back(first);
    first += level.rows;
  }
  first_of_level_.push_back(first);
  read_known();
}

void TermRows::read_known() {
  static_assert(std::is_trivially_copyable_v<TermRow>, "what ranks share is bytes");
  const std::uint64_t known = first_of_level_[last_level()];
  known_memory_ = runtime::NodeMemory(known * sizeof(TermRow), communicator_);
  const std::span rows(reinterpret_cast<TermRow*>(known_memory_.data()), known);
  const runtime::Communicator reading = known_memory_.shared() ? communicator_.node() : runtime::Communicator::self();
  const auto readers = static_cast<std::uint64_t>(reading.size());
  for (auto shard = static_cast<std::uint64_t>(reading.rank()); shard * rows_each_ < known; shard += readers) {
    const fingerprint::TermRows part = read(shard);
    for (std::size_t i = 0; i < part.size() && part.first + i < known; ++i) rows[part.first + i] = row_at(part, i);
  }
  reading.barrier();
  known_ = rows;
  // Arguments come before what is applied to them.
  for (TermId t = 0; reading.rank() == 0 && t < known; ++t) note_variables(t, rows[t]);
  reading.barrier();
}

void TermRows::note_variables(TermId t, TermRow& row) const {
  const enumerate::VariableSet found = variables(t, row);
  row.variables = static_cast<std::uint32_t>(found);
  if (row.variables != found) row.variables = 0;
}

std::uint64_t TermRows::held_bytes(const fingerprint::Summary& summary, int sharing) {
  const std::uint64_t last = summary.levels.back().rows;
  return (summary.rows - last) * sizeof(TermRow) / static_cast<std::uint64_t>(sharing) + last * sizeof(std::uint32_t);
}

fingerprint::TermRows TermRows::read(std::uint64_t shard) const {
  fingerprint::TermRows rows = fingerprint::read_shard(out_ / fingerprint::shard_name(shard), digest_);
  const std::uint64_t expected = std::min(rows_each_, summary_.rows - shard * rows_each_);
  if (rows.first != shard * rows_each_ || rows.size() != expected || rows.arguments_width > TermRow::most_arguments ||
      rows.sizes_width > TermRow::most_sizes) {
    throw runtime::InputError((out_ / fingerprint::shard_name(shard)).string(), "does not hold the terms of its place");
  }
  return rows;
}

TermRow TermRows::row_at(const fingerprint::TermRows& rows, std::size_t i) const {
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

std::vector<FingerprintRecord> TermRows::records(std::uint64_t part, std::uint64_t parts) const {
  std::vector<FingerprintRecord> records;
  for (std::uint64_t shard = 0; shard < summary_.shards; ++shard) {
    if (owner(shard) != communicator_.rank() || runtime::interrupted()) continue;
    const std::filesystem::path path = out_ / fingerprint::shard_name(shard);
    const fingerprint::FingerprintRows rows = fingerprint::read_fingerprints(path, digest_);
    if (rows.first != shard * rows_each_)
      throw runtime::InputError(path.string(), "does not hold the terms of its place");
    for (std::size_t i = 0; i < rows.orbit.size(); ++i) {
      const auto term = static_cast<TermId>(rows.first + i);
      // Ranks share a part by the other half of the word.
      if (rows.orbit[i] != term || (rows.fingerprint[2 * i + 1] & 0xffffffffu) % parts != part) continue;
      records.push_back({rows.fingerprint[2 * i], rows.fingerprint[2 * i + 1], term, rows.values[i], rows.type[i],
                         rows.symmetries[i] != 0});
    }
  }
  return records;
}

void TermRows::forget() {
  place_.clear();
  place_.shrink_to_fit();
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

std::uint8_t TermRows::Names::of(std::uint8_t variable) const {
  const auto swap = [&](std::uint8_t s) {
    const auto& [a, b] = (*swaps_)[s];
    variable = variable == a ? b : variable == b ? a : variable;
  };
  for (const std::uint8_t s : there_) swap(s);
  for (auto s = back_.rbegin(); s != back_.rend(); ++s) swap(*s);
  return variable;
}

TermRows::Names TermRows::names(const Occurrence& occurrence) const {
  Names names;
  names.swaps_ = &renamings_.swaps();
  if (occurrence.renaming != 0) {
    names.there_ = renamings_.of(variables(occurrence.term)).swaps_of(occurrence.renaming);
  }
  if (occurrence.back != no_id && occurrence.back_renaming != 0) {
    names.back_ = renamings_.of(variables(occurrence.back)).swaps_of(occurrence.back_renaming);
  }
  return names;
}

void TermRows::fetch(std::vector<TermId> wanted) {
  if (place_.empty()) place_.assign(summary_.rows - known_.size(), no_id);
  std::erase_if(wanted, [&](TermId t) { return t < known_.size() || place_[t - known_.size()] != no_id; });
  std::ranges::sort(wanted);
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  std::vector<runtime::Bytes> requests(static_cast<std::size_t>(communicator_.size()));
  for (const TermId t : wanted) runtime::append_value(requests[static_cast<std::size_t>(owner(t / rows_each_))], t);
  std::vector<runtime::Bytes> replies;
  std::uint64_t loaded = no_id;
  fingerprint::TermRows rows;
  for (const runtime::Bytes& bytes : communicator_.all_to_all(std::move(requests))) {
    replies.emplace_back();
    for (const TermId t : runtime::values_of<TermId>(bytes)) {
      if (loaded != t / rows_each_) {
        loaded = t / rows_each_;
        rows = read(loaded);
      }
      runtime::append_value(replies.back(), row_at(rows, t - rows.first));
    }
  }
  std::vector<std::size_t> next(replies.size(), 0);
  std::vector<std::vector<TermRow>> received;
  for (const runtime::Bytes& bytes : communicator_.all_to_all(std::move(replies)))
    received.push_back(runtime::values_of<TermRow>(bytes));
  for (const TermId t : wanted) {
    const auto from = static_cast<std::size_t>(owner(t / rows_each_));
    place_[t - known_.size()] = static_cast<std::uint32_t>(fetched_.size());
    fetched_.push_back(received[from][next[from]++]);
    note_variables(t, fetched_.back());
  }
}

}  // namespace rulemill::dedup
