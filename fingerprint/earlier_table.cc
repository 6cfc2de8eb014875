#include "fingerprint/earlier_table.h"

#include <spdlog/spdlog.h>
#include <algorithm>
#include <map>

#include "enumerate/profile_parts.h"
#include "runtime/byte_lists.h"
#include "runtime/error.h"
#include "runtime/file_check.h"
#include "runtime/hash.h"
#include "runtime/json_report.h"
#include "runtime/program_digest.h"

namespace rulemill::fingerprint {

using enumerate::no_id;
using enumerate::SignatureId;
using enumerate::TermId;
using runtime::Json;

namespace {

/// Hash of what a row is. `numbers`: the table's instance, terms and sizes.
std::uint64_t hash_of(std::uint16_t instance, std::span<const std::uint32_t> arguments,
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

std::span<const std::uint32_t> arguments_of(const TermRows& rows, std::size_t i) {
  return std::span(rows.arguments).subspan(i * rows.arguments_width, rows.arguments_width);
}

std::span<const std::uint32_t> sizes_of(const TermRows& rows, std::size_t i) {
  return std::span(rows.sizes).subspan(i * rows.sizes_width, rows.sizes_width);
}

/// Whether the row's list begins with these numbers and has no more.
bool begins_with(std::span<const std::uint32_t> list, std::span<const std::uint32_t> numbers) {
  return numbers.size() <= list.size() && std::ranges::equal(list.first(numbers.size()), numbers) &&
         (numbers.size() == list.size() || list[numbers.size()] == no_id);
}

/// What of a run's inputs says which values variables have and how they are renamed.
bool decides_values(const std::string& part) {
  return part.starts_with("variable ") || part == "order of variables" || part == "roles" || part == "max_elements" ||
         part == "values" || part == "seed" || part == "max_ops" || part.starts_with("--");
}

/// What a row is, in the table's numbers.
struct RowKey {
  std::uint16_t instance = no_instance;
  std::array<std::uint32_t, enumerate::max_arity> arguments{};
  std::array<std::uint32_t, 16> sizes{};
  std::size_t arity = 0, size_count = 0;

  std::span<const std::uint32_t> argument_list() const { return std::span(arguments).first(arity); }
  std::span<const std::uint32_t> size_list() const { return std::span(sizes).first(size_count); }
  std::uint64_t hash() const { return hash_of(instance, argument_list(), size_list()); }
  bool is(const TermRows& rows, std::size_t i) const {
    return rows.instance[i] == instance && begins_with(arguments_of(rows, i), argument_list()) &&
           begins_with(sizes_of(rows, i), size_list());
  }
};

/// In the table's numbers, if it has all of them.
std::optional<RowKey> key_of(const enumerate::Signature& signature, bool commutative, std::uint16_t instance,
                             std::span<const TermId> arguments, const std::vector<TermId>& there) {
  RowKey key;
  key.instance = instance;
  if (instance == no_instance || signature.sizes.size() > key.sizes.size()) return std::nullopt;
  for (const TermId t : arguments) {
    if (there[t] == no_id) return std::nullopt;
    key.arguments[key.arity++] = there[t];
  }
  if (commutative) std::sort(key.arguments.begin(), key.arguments.begin() + static_cast<std::ptrdiff_t>(key.arity));
  for (const std::int64_t size : signature.sizes) key.sizes[key.size_count++] = static_cast<std::uint32_t>(size);
  return key;
}

}  // namespace

void put_table_aside(const std::filesystem::path& out) {
  const runtime::Manifest manifest(out);
  if (manifest.figures(fingerprint_stage).empty() || !std::filesystem::exists(out / "shards")) return;
  std::filesystem::remove_all(out / earlier_folder);
  std::filesystem::create_directories(out / earlier_folder);
  std::filesystem::copy_file(out / "manifest.json", out / earlier_folder / "manifest.json");
  std::filesystem::rename(out / "shards", out / earlier_folder / "shards");
}

std::optional<EarlierTable::Heading> EarlierTable::read_heading(const std::filesystem::path& folder,
                                                                const enumerate::Profile& profile,
                                                                const algebra::Library& library,
                                                                std::uint32_t max_ops) {
  if (!std::filesystem::exists(folder / "manifest.json")) return std::nullopt;
  try {
    const runtime::Manifest manifest(folder);
    const runtime::Attributes figures = manifest.figures(fingerprint_stage);
    const auto program = figures.find(program_figure);
    if (program == figures.end() || std::get<std::string>(program->second) != runtime::program_digest()) {
      return std::nullopt;
    }
    enumerate::Parts parts = enumerate::parts_of(profile);
    parts.merge(enumerate::definitions_of(profile, library));
    parts["seed"] = std::to_string(profile.seed);
    parts["max_ops"] = std::to_string(max_ops);
    const enumerate::Parts& now = parts;
    const enumerate::Parts& before = manifest.inputs();
    for (const enumerate::Change& change : enumerate::changes(before, now)) {
      if (decides_values(change.part) && !change.part.starts_with("--")) return std::nullopt;
    }
    Heading heading{manifest.inputs_digest(fingerprint_stage), summary_of(figures), {}, {}};
    heading.dictionary =
        Dictionary::parse(runtime::read_listed(manifest, dictionary_file), (folder / dictionary_file).string());
    for (const Dictionary::InstanceEntry& entry : heading.dictionary.instances) {
      const std::string part = "definition of " + entry.name;
      const auto was = before.find(part), is = now.find(part);
      heading.same.push_back(was != before.end() && is != now.end() && was->second == is->second);
    }
    return heading;
  } catch (const runtime::InputError& error) {
    spdlog::warn("{}; terms of the run before are evaluated again", error.what());
    return std::nullopt;
  }
}

std::unique_ptr<EarlierTable> EarlierTable::open(const std::filesystem::path& folder, const enumerate::Profile& profile,
                                                 const algebra::Library& library, const LevelRunner& runner,
                                                 const runtime::Communicator& communicator) {
  // Every rank reads the same files; where one cannot, none uses them.
  std::string there = communicator.is_root() && std::filesystem::exists(folder / "manifest.json") ? "yes" : "";
  communicator.broadcast(there);
  if (there.empty()) return nullptr;
  std::optional<Heading> heading = read_heading(folder, profile, library, runner.enumerator().level());
  if (communicator.any(!heading)) return nullptr;
  std::unique_ptr<EarlierTable> table(new EarlierTable(folder, runner, std::move(*heading)));
  table->match_instances();
  if (communicator.any(!table->match_terms())) return nullptr;
  table->find_units(communicator);
  return table;
}

EarlierTable::EarlierTable(std::filesystem::path folder, const LevelRunner& runner, Heading heading)
    : folder_(std::move(folder)),
      runner_(runner),
      heading_(std::move(heading)),
      rows_each_(shard_rows(heading_.summary.rows)),
      known_(heading_.summary.rows - heading_.summary.levels.back().rows) {}

void EarlierTable::match_instances() {
  std::map<std::string, std::uint16_t> numbers;
  for (std::size_t i = 0; i < heading_.dictionary.instances.size(); ++i) {
    const Dictionary::InstanceEntry& entry = heading_.dictionary.instances[i];
    if (heading_.same[i]) numbers[entry.in_words()] = static_cast<std::uint16_t>(i);
  }
  const auto& signatures = runner_.enumerator().signatures();
  for (SignatureId s = 0; s < signatures.size(); ++s) {
    const algebra::Instance& instance = *signatures[s].instance;
    const auto found = numbers.find(
        Dictionary::InstanceEntry{instance.operator_name, instance.parameters, *signatures[s].ranks}.in_words());
    instance_.push_back(found == numbers.end() ? no_instance : found->second);
  }
}

bool EarlierTable::match_terms() {
  const auto& enumerator = runner_.enumerator();
  const auto& terms = enumerator.terms();
  // The table's nodes by what they are, and their first term.
  std::unordered_map<std::uint64_t, TermId> nodes;
  std::vector<std::shared_ptr<const TermRows>> shards;
  for (std::uint64_t first = 0; first < known_; first += rows_each_) {
    const auto rows = read(first / rows_each_);
    if (!rows) return false;
    shards.push_back(rows);
    for (std::size_t i = 0; i < rows->size() && first + i < known_; ++i) {
      orbit_.push_back(rows->orbit[i]);
      level_.push_back(rows->level[i]);
      if (rows->instance[i] == no_instance || rows->output[i] != 0) continue;
      nodes.emplace(hash_of(rows->instance[i], arguments_of(*rows, i), sizes_of(*rows, i)),
                    static_cast<TermId>(first + i));
    }
  }
  there_.assign(terms.terms(), no_id);
  for (TermId t = 0; t < terms.terms() && terms.is_variable(t); ++t) there_[t] = t;
  for (enumerate::NodeId n = 0; n < terms.nodes(); ++n) {
    const SignatureId s = terms.signature(n);
    const enumerate::Signature& signature = enumerator.signatures()[s];
    const bool commutative = enumerator.signatures().families()[signature.family].commutative;
    const auto key = key_of(signature, commutative, instance_[s], terms.arguments(n), there_);
    const auto found = key ? nodes.find(key->hash()) : nodes.end();
    if (found == nodes.end()) continue;
    const TermRows& rows = *shards[found->second / rows_each_];
    if (!key->is(rows, found->second % rows_each_)) continue;
    for (TermId o = 0; o < signature.outputs.size(); ++o) there_[terms.first_term(n) + o] = found->second + o;
  }
  return true;
}

std::shared_ptr<const TermRows> EarlierTable::read(std::uint64_t shard) const {
  try {
    auto rows = std::make_shared<TermRows>(read_shard(folder_ / shard_name(shard), heading_.digest));
    if (rows->first == shard * rows_each_) return rows;
  } catch (const runtime::Error& error) {
    if (!warned_.exchange(true)) spdlog::warn("{}; its terms are evaluated again", error.what());
  }
  return nullptr;
}

TermId EarlierTable::primary_of(std::span<const std::uint32_t> arguments) const {
  TermId primary = no_id;
  for (const std::uint32_t t : arguments) {
    if (t >= known_) continue;  // none
    const bool higher = primary == no_id || level_[t] > level_[primary];
    if (higher || (level_[t] == level_[primary] && orbit_[t] < primary)) primary = orbit_[t];
  }
  return primary;
}

void EarlierTable::find_units(const runtime::Communicator& communicator) {
  const auto ranks = static_cast<std::uint64_t>(communicator.size());
  std::vector<Unit> mine;
  for (std::uint64_t shard = known_ / rows_each_; shard * rows_each_ < heading_.summary.rows; ++shard) {
    if (shard % ranks != static_cast<std::uint64_t>(communicator.rank())) continue;
    const auto rows = read(shard);
    for (std::size_t i = 0; rows && i < rows->size(); ++i) {
      const std::uint64_t row = rows->first + i;
      if (row < known_) continue;
      const TermId primary = primary_of(arguments_of(*rows, i));
      if (!mine.empty() && mine.back().primary == primary && mine.back().first + mine.back().count == row)
        ++mine.back().count;
      else
        mine.push_back({primary, 1, row});
    }
  }
  for (const runtime::Bytes& bytes : communicator.all_gather(runtime::bytes_of(mine))) {
    const auto units = runtime::values_of<Unit>(bytes);
    units_.insert(units_.end(), units.begin(), units.end());
  }
  std::ranges::sort(units_, {}, [](const Unit& unit) { return std::pair(unit.primary, unit.first); });
}

void EarlierTable::Reader::node(SignatureId signature, std::span<const TermId> arguments, std::uint64_t row) {
  if (!take(signature, arguments, row)) next_.node(signature, arguments, row);
}

std::shared_ptr<const TermRows> EarlierTable::Reader::shard(std::uint64_t number) {
  for (const auto& [known, rows] : shards_) {
    if (rows && known == number) return rows;
  }
  oldest_ = (oldest_ + 1) % shards_.size();
  shards_[oldest_] = {number, table_.read(number)};
  return shards_[oldest_].second;
}

void EarlierTable::Reader::load(TermId primary) {
  primary_ = primary;
  unit_.clear();
  auto unit = std::ranges::lower_bound(table_.units_, primary, {}, &Unit::primary);
  for (; unit != table_.units_.end() && unit->primary == primary; ++unit) {
    for (std::uint64_t row = unit->first; row < unit->first + unit->count; ++row) {
      const auto rows = shard(row / table_.rows_each_);
      if (!rows) return;
      const std::size_t at = row % table_.rows_each_;
      if (rows->output[at] != 0) continue;
      unit_.emplace(hash_of(rows->instance[at], arguments_of(*rows, at), sizes_of(*rows, at)), Place{rows, at});
    }
  }
}

bool EarlierTable::Reader::take(SignatureId s, std::span<const TermId> arguments, std::uint64_t row) {
  const auto& enumerator = table_.runner_.enumerator();
  const enumerate::Signature& signature = enumerator.signatures()[s];
  const bool commutative = enumerator.signatures().families()[signature.family].commutative;
  const auto key = key_of(signature, commutative, table_.instance_[s], arguments, table_.there_);
  if (!key) return false;
  if (const TermId primary = table_.primary_of(key->argument_list()); primary != primary_) load(primary);
  const auto found = unit_.find(key->hash());
  if (found == unit_.end() || !key->is(*found->second.rows, found->second.at)) return false;
  const TermRows& rows = *found->second.rows;
  const std::size_t outputs = signature.outputs.size(), at = found->second.at;
  if (at + outputs > rows.size()) return false;  // the others lie in the next shard
  for (std::size_t o = 0; o < outputs; ++o) {
    if (rows.output[at + o] != o || rows.node[at + o] != rows.node[at]) return false;
    OrbitPrint print;
    print.print = {rows.fingerprint[2 * (at + o)], rows.fingerprint[2 * (at + o) + 1]};
    print.renaming = rows.renaming[at + o];
    print.values = rows.values[at + o];
    print.symmetries = rows.symmetries[at + o];
    rows_.set(row + o, s, arguments, rows.images[at + o], print);
  }
  ++table_.taken_;
  return true;
}

}  // namespace rulemill::fingerprint
