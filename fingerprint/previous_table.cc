#include "fingerprint/previous_table.h"

#include <spdlog/spdlog.h>
#include <algorithm>
#include <map>

#include "enumerate/profile/profile_components.h"
#include "runtime/files/file_integrity.h"
#include "runtime/process/subprocess.h"
#include "runtime/text/byte_lists.h"
#include "runtime/text/error.h"
#include "runtime/text/hash.h"
#include "runtime/text/json.h"

namespace rulemill::fingerprint {

using enumerate::no_id;
using enumerate::SignatureId;
using enumerate::TermId;
using runtime::Json;

namespace {

/// Hash of a row key, in the table's ids.
std::uint64_t row_hash(std::uint16_t instance, std::span<const std::uint32_t> arguments,
                       std::span<const std::uint32_t> sizes) {
  std::array<std::uint32_t, 1 + enumerate::max_arity + 16> numbers{};
  std::size_t count = 0;
  numbers[count++] = instance;
  for (const auto& list : {arguments, sizes}) {
    for (const std::uint32_t number : list) {
      if (number != no_id && count < numbers.size()) numbers[count++] = number;
    }
  }
  return runtime::hash64(runtime::bytes_of(std::span(numbers).first(count)));
}

std::span<const std::uint32_t> arguments_of(const ShardRows& rows, std::size_t i) {
  return std::span(rows.arguments).subspan(i * rows.arguments_width, rows.arguments_width);
}

std::span<const std::uint32_t> sizes_of(const ShardRows& rows, std::size_t i) {
  return std::span(rows.sizes).subspan(i * rows.sizes_width, rows.sizes_width);
}

/// True if `list`, padded with no_id, has exactly these numbers.
bool equals_padded(std::span<const std::uint32_t> list, std::span<const std::uint32_t> numbers) {
  return numbers.size() <= list.size() && std::ranges::equal(list.first(numbers.size()), numbers) &&
         (numbers.size() == list.size() || list[numbers.size()] == no_id);
}

/// True for the inputs that determine the variables' values and renamings.
bool determines_values(const std::string& input) {
  return input.starts_with("variable ") || input == "order of variables" || input == "roles" ||
         input == "max_elements" || input == "values" || input == "seed" || input == "max_ops";
}

/// The identity of a row: its operator instance, arguments and sizes, in the table's ids.
struct RowKey {
  std::uint16_t instance = no_instance;
  std::array<std::uint32_t, enumerate::max_arity> arguments{};
  std::array<std::uint32_t, 16> sizes{};
  std::size_t arity = 0, size_count = 0;

  std::span<const std::uint32_t> argument_list() const { return std::span(arguments).first(arity); }
  std::span<const std::uint32_t> size_list() const { return std::span(sizes).first(size_count); }
  std::uint64_t hash() const { return row_hash(instance, argument_list(), size_list()); }
  bool matches(const ShardRows& rows, std::size_t i) const {
    return rows.instance[i] == instance && equals_padded(arguments_of(rows, i), argument_list()) &&
           equals_padded(sizes_of(rows, i), size_list());
  }
};

/// Returns the key of a node in the table's ids, if the table has its instance and arguments.
std::optional<RowKey> find_row_key(const enumerate::Signature& signature, bool commutative, std::uint16_t instance,
                                   std::span<const TermId> arguments, const std::vector<TermId>& previous_ids) {
  RowKey key;
  key.instance = instance;
  if (instance == no_instance || signature.sizes.size() > key.sizes.size()) return std::nullopt;
  for (const TermId t : arguments) {
    if (previous_ids[t] == no_id) return std::nullopt;
    key.arguments[key.arity++] = previous_ids[t];
  }
  if (commutative) std::sort(key.arguments.begin(), key.arguments.begin() + static_cast<std::ptrdiff_t>(key.arity));
  for (const std::int64_t size : signature.sizes) key.sizes[key.size_count++] = static_cast<std::uint32_t>(size);
  return key;
}

}  // namespace

void archive_table(const std::filesystem::path& out) {
  const runtime::Manifest manifest(out);
  if (manifest.statistics(fingerprint_stage).empty() || !std::filesystem::exists(out / "shards")) return;
  std::filesystem::remove_all(out / previous_folder);
  std::filesystem::create_directories(out / previous_folder);
  std::filesystem::copy_file(out / "manifest.json", out / previous_folder / "manifest.json");
  std::filesystem::rename(out / "shards", out / previous_folder / "shards");
}

std::optional<PreviousTable::Header> PreviousTable::read_header(const std::filesystem::path& folder,
                                                                const enumerate::Profile& profile,
                                                                const algebra::Library& library,
                                                                std::uint32_t max_ops) {
  if (!std::filesystem::exists(folder / "manifest.json")) return std::nullopt;
  try {
    const runtime::Manifest manifest(folder);
    const runtime::Attributes statistics = manifest.statistics(fingerprint_stage);
    const auto program = statistics.find(program_attribute);
    if (program == statistics.end() || std::get<std::string>(program->second) != runtime::program_digest())
      return std::nullopt;
    enumerate::InputComponents parts = enumerate::profile_components(profile);
    parts.merge(enumerate::definition_components(profile, library));
    parts["seed"] = std::to_string(profile.seed);
    parts["max_ops"] = std::to_string(max_ops);
    const enumerate::InputComponents& now = parts;
    const enumerate::InputComponents& before = manifest.inputs();
    for (const enumerate::InputChange& change : enumerate::find_changes(before, now)) {
      if (determines_values(change.component)) return std::nullopt;
    }
    Header header{manifest.inputs_digest(fingerprint_stage), summary_of(statistics), {}, {}};
    header.dictionary =
        Dictionary::parse(runtime::read_verified(manifest, dictionary_file), (folder / dictionary_file).string());
    for (const Dictionary::InstanceRecord& entry : header.dictionary.instances) {
      const std::string input = "definition of " + entry.name;
      const auto was = before.find(input), is = now.find(input);
      header.unchanged.push_back(was != before.end() && is != now.end() && was->second == is->second);
    }
    return header;
  } catch (const runtime::InputError& error) {
    spdlog::warn("{}; reevaluating the terms of the previous run", error.what());
    return std::nullopt;
  }
}

std::unique_ptr<PreviousTable> PreviousTable::open(const std::filesystem::path& folder,
                                                   const enumerate::Profile& profile, const algebra::Library& library,
                                                   const LevelRunner& runner,
                                                   const runtime::Communicator& communicator) {
  // Every rank reads the same files. If one cannot read them, none uses them.
  std::string found = communicator.is_root() && std::filesystem::exists(folder / "manifest.json") ? "yes" : "";
  communicator.broadcast(found);
  if (found.empty()) return nullptr;
  std::optional<Header> header = read_header(folder, profile, library, runner.enumerator().level());
  if (communicator.any(!header)) return nullptr;
  std::unique_ptr<PreviousTable> table(new PreviousTable(folder, runner, std::move(*header)));
  table->match_instances();
  if (communicator.any(!table->match_terms())) return nullptr;
  table->index_rows_by_primary(communicator);
  return table;
}

PreviousTable::PreviousTable(std::filesystem::path folder, const LevelRunner& runner, Header header)
    : folder_(std::move(folder)),
      runner_(runner),
      header_(std::move(header)),
      rows_per_shard_(rows_per_shard(header_.summary.rows)),
      lower_rows_(header_.summary.rows - header_.summary.levels.back().rows) {}

void PreviousTable::match_instances() {
  std::map<std::string, std::uint16_t> numbers;
  for (std::size_t i = 0; i < header_.dictionary.instances.size(); ++i) {
    const Dictionary::InstanceRecord& entry = header_.dictionary.instances[i];
    if (header_.unchanged[i]) numbers[entry.key()] = static_cast<std::uint16_t>(i);
  }
  const auto& signatures = runner_.enumerator().signatures();
  for (SignatureId s = 0; s < signatures.size(); ++s) {
    const algebra::OperatorInstance& instance = *signatures[s].instance;
    const auto found = numbers.find(
        Dictionary::InstanceRecord{instance.operator_name, instance.parameters, *signatures[s].ranks}.key());
    instance_.push_back(found == numbers.end() ? no_instance : found->second);
  }
}

bool PreviousTable::match_terms() {
  const auto& enumerator = runner_.enumerator();
  const auto& terms = enumerator.terms();
  // The first term of each node of the table, by the hash of its row key.
  std::unordered_map<std::uint64_t, TermId> nodes;
  std::vector<std::shared_ptr<const ShardRows>> shards;
  for (std::uint64_t first = 0; first < lower_rows_; first += rows_per_shard_) {
    const auto rows = read(first / rows_per_shard_);
    if (!rows) return false;
    shards.push_back(rows);
    for (std::size_t i = 0; i < rows->size() && first + i < lower_rows_; ++i) {
      orbit_.push_back(rows->orbit[i]);
      level_.push_back(rows->level[i]);
      if (rows->instance[i] == no_instance || rows->output[i] != 0) continue;
      nodes.emplace(row_hash(rows->instance[i], arguments_of(*rows, i), sizes_of(*rows, i)),
                    static_cast<TermId>(first + i));
    }
  }
  previous_ids_.assign(terms.terms(), no_id);
  for (TermId t = 0; t < terms.terms() && terms.is_variable(t); ++t) previous_ids_[t] = t;
  for (enumerate::NodeId n = 0; n < terms.nodes(); ++n) {
    const SignatureId s = terms.signature(n);
    const enumerate::Signature& signature = enumerator.signatures()[s];
    const bool commutative = enumerator.signatures().families()[signature.family].commutative;
    const auto key = find_row_key(signature, commutative, instance_[s], terms.arguments(n), previous_ids_);
    const auto found = key ? nodes.find(key->hash()) : nodes.end();
    if (found == nodes.end()) continue;
    const ShardRows& rows = *shards[found->second / rows_per_shard_];
    if (!key->matches(rows, found->second % rows_per_shard_)) continue;
    for (TermId o = 0; o < signature.outputs.size(); ++o) previous_ids_[terms.first_term(n) + o] = found->second + o;
  }
  return true;
}

std::shared_ptr<const ShardRows> PreviousTable::read(std::uint64_t shard) const {
  try {
    auto rows = std::make_shared<ShardRows>(read_shard(folder_ / shard_name(shard), header_.digest));
    if (rows->first == shard * rows_per_shard_) return rows;
  } catch (const runtime::Error& error) {
    if (!warned_.exchange(true)) spdlog::warn("{}; reevaluating its terms", error.what());
  }
  return nullptr;
}

TermId PreviousTable::primary_of(std::span<const std::uint32_t> arguments) const {
  TermId primary = no_id;
  for (const std::uint32_t t : arguments) {
    if (t >= lower_rows_) continue;  // unused argument
    const bool higher = primary == no_id || level_[t] > level_[primary];
    if (higher || (level_[t] == level_[primary] && orbit_[t] < primary)) primary = orbit_[t];
  }
  return primary;
}

void PreviousTable::index_rows_by_primary(const runtime::Communicator& communicator) {
  const auto ranks = static_cast<std::uint64_t>(communicator.size());
  std::vector<PrimaryRows> local;
  for (std::uint64_t shard = lower_rows_ / rows_per_shard_; shard * rows_per_shard_ < header_.summary.rows; ++shard) {
    if (shard % ranks != static_cast<std::uint64_t>(communicator.rank())) continue;
    const auto rows = read(shard);
    for (std::size_t i = 0; rows && i < rows->size(); ++i) {
      const std::uint64_t row = rows->first + i;
      if (row < lower_rows_) continue;
      const TermId primary = primary_of(arguments_of(*rows, i));
      if (!local.empty() && local.back().primary == primary && local.back().first + local.back().count == row)
        ++local.back().count;
      else
        local.push_back({primary, 1, row});
    }
  }
  for (const runtime::Bytes& bytes : communicator.all_gather(runtime::bytes_of(local))) {
    const auto ranges = runtime::values_of<PrimaryRows>(bytes);
    rows_by_primary_.insert(rows_by_primary_.end(), ranges.begin(), ranges.end());
  }
  std::ranges::sort(rows_by_primary_, {},
                    [](const PrimaryRows& range) { return std::pair(range.primary, range.first); });
}

std::unique_ptr<enumerate::NodeSink> PreviousTable::reuse_rows(enumerate::NodeSink& next, EvaluatedRows& rows) const {
  return std::make_unique<RowReuser>(*this, next, rows);
}

void PreviousTable::RowReuser::add_node(SignatureId signature, std::span<const TermId> arguments, std::uint64_t row) {
  if (!copy_row(signature, arguments, row)) next_.add_node(signature, arguments, row);
}

std::shared_ptr<const ShardRows> PreviousTable::RowReuser::shard(std::uint64_t number) {
  for (const auto& [known, rows] : shards_) {
    if (rows && known == number) return rows;
  }
  oldest_ = (oldest_ + 1) % shards_.size();
  shards_[oldest_] = {number, table_.read(number)};
  return shards_[oldest_].second;
}

void PreviousTable::RowReuser::load_primary(TermId primary) {
  primary_ = primary;
  rows_of_primary_.clear();
  auto range = std::ranges::lower_bound(table_.rows_by_primary_, primary, {}, &PrimaryRows::primary);
  for (; range != table_.rows_by_primary_.end() && range->primary == primary; ++range) {
    for (std::uint64_t row = range->first; row < range->first + range->count; ++row) {
      const auto rows = shard(row / table_.rows_per_shard_);
      if (!rows) return;
      const std::size_t at = row % table_.rows_per_shard_;
      if (rows->output[at] != 0) continue;
      rows_of_primary_.emplace(row_hash(rows->instance[at], arguments_of(*rows, at), sizes_of(*rows, at)),
                               RowPosition{rows, at});
    }
  }
}

bool PreviousTable::RowReuser::copy_row(SignatureId s, std::span<const TermId> arguments, std::uint64_t row) {
  const auto& enumerator = table_.runner_.enumerator();
  const enumerate::Signature& signature = enumerator.signatures()[s];
  const bool commutative = enumerator.signatures().families()[signature.family].commutative;
  const auto key = find_row_key(signature, commutative, table_.instance_[s], arguments, table_.previous_ids_);
  if (!key) return false;
  if (const TermId primary = table_.primary_of(key->argument_list()); primary != primary_) load_primary(primary);
  const auto found = rows_of_primary_.find(key->hash());
  if (found == rows_of_primary_.end() || !key->matches(*found->second.rows, found->second.at)) return false;
  const ShardRows& rows = *found->second.rows;
  const std::size_t outputs = signature.outputs.size(), at = found->second.at;
  if (at + outputs > rows.size()) return false;  // the other outputs are in the next shard
  for (std::size_t o = 0; o < outputs; ++o) {
    if (rows.output[at + o] != o || rows.node[at + o] != rows.node[at]) return false;
    OrbitFingerprint fingerprint;
    fingerprint.minimum = {rows.fingerprint[2 * (at + o)], rows.fingerprint[2 * (at + o) + 1]};
    fingerprint.renaming = rows.renaming[at + o];
    fingerprint.distinct_values = rows.distinct_values[at + o];
    fingerprint.symmetries = rows.symmetries[at + o];
    rows_.set(row + o, s, arguments, rows.orbit_size[at + o], fingerprint);
  }
  ++table_.rows_reused_;
  return true;
}

}  // namespace rulemill::fingerprint
