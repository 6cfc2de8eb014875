#include "dedup/candidates/generalization_cache.h"

#include <spdlog/spdlog.h>
#include <algorithm>

#include "runtime/files/atomic_file.h"
#include "runtime/process/subprocess.h"
#include "runtime/text/byte_lists.h"
#include "runtime/text/error.h"

// File format: a checksum of the rest, the origin, the hashes of types and of instances by number, the generalized
// candidates, and their entries by key.
namespace rulemill::dedup {
namespace {

constexpr std::uint16_t unknown = fingerprint::no_instance;

std::uint64_t hash_of(std::string_view text) { return runtime::hash64(runtime::bytes_of(text)); }

/// Returns, for each number in the file, the number in this run, or `unknown`.
std::vector<std::uint16_t> renumber(const std::vector<std::uint64_t>& in_file,
                                    const std::vector<std::uint64_t>& in_run) {
  std::unordered_map<std::uint64_t, std::uint16_t> numbers;
  for (std::size_t i = 0; i < in_run.size(); ++i) numbers.emplace(in_run[i], static_cast<std::uint16_t>(i));
  std::vector<std::uint16_t> result;
  for (const std::uint64_t hash : in_file) {
    const auto found = numbers.find(hash);
    result.push_back(found == numbers.end() ? unknown : found->second);
  }
  return result;
}

/// Returns the candidate with this run's numbers; empty if one of its types or instances does not exist in this run.
std::string renumber(std::string_view packed, const std::vector<std::uint16_t>& types,
                     const std::vector<std::uint16_t>& instances) {
  CandidateGraph graph = unpack(std::string(packed));
  bool known = true;
  for (std::uint16_t& type : graph.leaves) {
    type = types.at(type);
    known &= type != unknown;
  }
  for (GraphNode& node : graph.nodes) {
    node.instance = instances.at(node.instance);
    known &= node.instance != unknown;
    for (std::uint16_t& type : node.types) {
      if (type == unknown) continue;
      type = types.at(type);
      known &= type != unknown;
    }
  }
  return known ? pack(graph) : std::string();
}

}  // namespace

GeneralizationCache::GeneralizationCache(std::filesystem::path out, const fingerprint::Dictionary& dictionary,
                                         const algebra::Library& library, const std::string& origin,
                                         const runtime::Communicator& communicator)
    : out_(std::move(out)), origin_(runtime::program_digest() + " " + origin), communicator_(communicator) {
  for (const enumerate::Dims& dims : dictionary.types) types_.push_back(runtime::hash64(runtime::bytes_of(dims)));
  for (const auto& entry : dictionary.instances)
    instances_.push_back(hash_of(entry.key() + " " + library.digest(entry.name)));
  std::string content;
  const std::filesystem::path file = out_ / generalization_cache_file;
  if (communicator.is_root() && std::filesystem::exists(file)) content = runtime::read_file(file);
  communicator.broadcast(content);
  if (content.empty() || read(content)) return;
  form_numbers_.clear();
  forms_.clear();
  if (communicator.is_root()) spdlog::warn("{}: is damaged; it will be recreated", file.string());
}

bool GeneralizationCache::read(const std::string& content) {
  runtime::ByteView rest = runtime::bytes_of(content);
  if (rest.size() < sizeof(Key)) return false;
  const auto checksum = runtime::take_value<Key>(rest);
  if (checksum != runtime::hash128(rest)) return false;
  if (runtime::take_text(rest) != origin_) return true;
  const std::vector<std::uint16_t> types = renumber(runtime::take_list<std::uint64_t>(rest), types_);
  const std::vector<std::uint16_t> instances = renumber(runtime::take_list<std::uint64_t>(rest), instances_);
  for (auto left = runtime::take_value<std::uint64_t>(rest); left > 0; --left)
    forms_.push_back(renumber(runtime::take_text(rest), types, instances));
  for (const FormEntry& entry : runtime::take_list<FormEntry>(rest)) form_numbers_.emplace(entry.key, entry.form);
  return true;
}

GeneralizationCache::Key GeneralizationCache::key(const CandidateGraph& graph) const {
  std::vector<std::uint64_t> numbers;
  numbers.reserve(128);
  const auto add_terms = [&](const auto& terms) {
    numbers.push_back(terms.size());
    for (const GraphTerm t : terms) numbers.push_back((t.is_leaf ? 1u : 0u) | t.output << 8u | t.index << 16u);
  };
  const auto add_type = [&](std::uint16_t type) { numbers.push_back(type == unknown ? 0 : types_[type]); };
  numbers.push_back(graph.leaves.size());
  for (const std::uint16_t type : graph.leaves) add_type(type);
  for (const GraphNode& node : graph.nodes) {
    numbers.push_back(instances_[node.instance]);
    add_terms(node.arguments);
    for (const std::int64_t size : node.sizes) numbers.push_back(static_cast<std::uint64_t>(size));
    numbers.push_back(node.types.size());
    for (const std::uint16_t type : node.types) add_type(type);
  }
  add_terms(graph.source);
  add_terms(graph.target);
  return runtime::hash128(runtime::bytes_of(numbers));
}

const std::string* GeneralizationCache::find(const Key& key) const {
  if (const auto found = form_numbers_.find(key); found != form_numbers_.end() && !forms_[found->second].empty())
    return &forms_[found->second];
  return find_step(key);
}

const std::string* GeneralizationCache::find_step(const Key& key) const {
  StepTable& table = steps_[key.high % steps_.size()];
  const std::scoped_lock lock(table.mutex);
  const auto found = table.forms.find(key);
  return found == table.forms.end() ? nullptr : found->second;
}

void GeneralizationCache::add(std::span<const Key> steps, const std::string& packed) {
  const std::string* form = nullptr;
  {
    const std::scoped_lock lock(new_entries_mutex_);
    form = &*new_forms_.insert(packed).first;
    new_entries_.push_back({steps.front(), form});
  }
  for (const Key& key : steps.subspan(1)) {
    StepTable& table = steps_[key.high % steps_.size()];
    const std::scoped_lock lock(table.mutex);
    table.forms.emplace(key, form);
  }
}

void GeneralizationCache::save() const {
  std::unordered_map<const std::string*, std::uint64_t> new_numbers;
  std::vector<FormEntry> new_entries;
  runtime::Bytes mine;
  runtime::append_value(mine, std::uint64_t{new_forms_.size()});
  for (const std::string& form : new_forms_) {
    runtime::append_text(mine, form);
    new_entries.push_back({key(unpack(form)), new_numbers.size()});
    new_numbers.emplace(&form, new_numbers.size());
  }
  for (const NewEntry& entry : new_entries_) new_entries.push_back({entry.key, new_numbers.at(entry.form)});
  runtime::append_list(mine, new_entries);
  const std::vector<runtime::Bytes> all = communicator_.gather(mine);
  if (!communicator_.is_root()) return;

  std::vector<std::pair<Key, std::string_view>> entries;
  for (const runtime::Bytes& of_rank : all) {
    runtime::ByteView rest = of_rank;
    std::vector<std::string_view> rank_forms(runtime::take_value<std::uint64_t>(rest));
    for (std::string_view& form : rank_forms) form = runtime::take_text(rest);
    for (const FormEntry& entry : runtime::take_list<FormEntry>(rest))
      entries.emplace_back(entry.key, rank_forms.at(entry.form));
  }
  std::ranges::sort(entries);
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  std::unordered_map<std::string_view, std::uint64_t> numbers;
  runtime::Bytes list;
  std::vector<FormEntry> numbered;
  for (const auto& [key, form] : entries) {
    const auto [number, is_new] = numbers.try_emplace(form, numbers.size());
    if (is_new) runtime::append_text(list, form);
    numbered.push_back({key, number->second});
  }
  runtime::Bytes content;
  runtime::append_text(content, origin_);
  runtime::append_list(content, types_);
  runtime::append_list(content, instances_);
  runtime::append_value(content, std::uint64_t{numbers.size()});
  runtime::append_bytes(content, list);
  runtime::append_list(content, numbered);
  const Key checksum = runtime::hash128(content);
  const std::vector<runtime::ByteView> chunks{runtime::bytes_of(std::span(&checksum, 1)), content};
  runtime::write_file(out_ / generalization_cache_file, chunks);
}

}  // namespace rulemill::dedup
