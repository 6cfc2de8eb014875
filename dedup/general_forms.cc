#include "dedup/general_forms.h"

#include <spdlog/spdlog.h>
#include <algorithm>

#include "runtime/atomic_file.h"
#include "runtime/byte_lists.h"
#include "runtime/error.h"
#include "runtime/program_digest.h"

// The file: a checksum of the rest, the origin, hashes of types and of instances by the number that they have in the
// forms, the forms, their entries by key, and hashes of typed candidates by key.
namespace rulemill::dedup {
namespace {

constexpr std::uint16_t unknown = fingerprint::no_instance;
constexpr std::size_t most_typed = std::size_t{1} << 22;  // entries that are kept, of all ranks: 134 MB

std::uint64_t hash_of(std::string_view text) { return runtime::hash64(runtime::bytes_of(text)); }

/// By number there, the number here, or `unknown`.
std::vector<std::uint16_t> renumbered(const std::vector<std::uint64_t>& there, const std::vector<std::uint64_t>& here) {
  std::unordered_map<std::uint64_t, std::uint16_t> numbers;
  for (std::size_t i = 0; i < here.size(); ++i) numbers.emplace(here[i], static_cast<std::uint16_t>(i));
  std::vector<std::uint16_t> result;
  for (const std::uint64_t hash : there) {
    const auto found = numbers.find(hash);
    result.push_back(found == numbers.end() ? unknown : found->second);
  }
  return result;
}

/// The form in other numbers; empty if there is none for something in it.
std::string renumbered(std::string_view packed, const std::vector<std::uint16_t>& types,
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

GeneralForms::GeneralForms(std::filesystem::path out, const fingerprint::Dictionary& dictionary,
                           const algebra::Library& library, const std::string& origin,
                           const runtime::Communicator& communicator)
    : out_(std::move(out)), origin_(runtime::program_digest() + " " + origin), communicator_(communicator) {
  for (const enumerate::Dims& dims : dictionary.types) types_.push_back(runtime::hash64(runtime::bytes_of(dims)));
  for (const auto& entry : dictionary.instances) {
    instances_.push_back(hash_of(entry.in_words() + " " + library.digest(entry.name)));
  }
  std::string content;
  const std::filesystem::path file = out_ / general_forms_file;
  if (communicator.is_root() && std::filesystem::exists(file)) content = runtime::read_file(file);
  communicator.broadcast(content);
  if (content.empty() || read(content)) return;
  known_.clear();
  forms_.clear();
  typed_.clear();
  if (communicator.is_root()) spdlog::warn("{}: is damaged; it is made again", file.string());
}

/// False if it is damaged. That of another program is left alone.
bool GeneralForms::read(const std::string& content) {
  runtime::ByteView rest = runtime::bytes_of(content);
  if (rest.size() < sizeof(Key)) return false;
  const auto checksum = runtime::take_value<Key>(rest);
  if (checksum != runtime::hash128(rest)) return false;
  if (runtime::take_text(rest) != origin_) return true;
  const std::vector<std::uint16_t> types = renumbered(runtime::take_list<std::uint64_t>(rest), types_);
  const std::vector<std::uint16_t> instances = renumbered(runtime::take_list<std::uint64_t>(rest), instances_);
  for (auto left = runtime::take_value<std::uint64_t>(rest); left > 0; --left) {
    forms_.push_back(renumbered(runtime::take_text(rest), types, instances));
  }
  for (const Entry& entry : runtime::take_list<Entry>(rest)) known_.emplace(entry.key, entry.form);
  typed_ = runtime::take_list<TypedEntry>(rest);
  return true;
}

GeneralForms::Key GeneralForms::key(const CandidateGraph& graph) const {
  runtime::Hasher hasher;
  const auto add_terms = [&](const auto& terms) {
    hasher.add_number(terms.size());
    for (const GraphTerm t : terms) hasher.add_number((t.is_leaf ? 1u : 0u) | t.output << 8u | t.index << 16u);
  };
  const auto add_type = [&](std::uint16_t type) { hasher.add_number(type == unknown ? 0 : types_[type]); };
  hasher.add_number(graph.leaves.size());
  for (const std::uint16_t type : graph.leaves) add_type(type);
  for (const GraphNode& node : graph.nodes) {
    hasher.add_number(instances_[node.instance]);
    add_terms(node.arguments);
    for (const std::int64_t size : node.sizes) hasher.add_number(static_cast<std::uint64_t>(size));
    hasher.add_number(node.types.size());
    for (const std::uint16_t type : node.types) add_type(type);
  }
  add_terms(graph.source);
  add_terms(graph.target);
  return hasher.digest128();
}

const std::string* GeneralForms::find(const Key& key) const {
  const auto found = known_.find(key);
  if (found == known_.end() || forms_[found->second].empty()) return nullptr;
  return &forms_[found->second];
}

void GeneralForms::note(const Key& key, const std::string& packed) {
  noted_.push_back({key, numbers_.try_emplace(packed, numbers_.size()).first->second});
}

runtime::Hash128 GeneralForms::typed(const CandidateGraph& graph, const std::function<std::string()>& text) {
  TypedEntry entry{key(graph), {}};
  const auto found = std::ranges::lower_bound(typed_, entry.key, {}, &TypedEntry::key);
  if (found != typed_.end() && found->key == entry.key)
    entry.text = found->text;
  else if (const std::string written = text(); !written.empty())
    entry.text = runtime::hash128(runtime::bytes_of(written));
  const std::scoped_lock lock(mutex_);
  if (noted_typed_.size() < most_typed / static_cast<std::size_t>(communicator_.size())) noted_typed_.push_back(entry);
  return entry.text;
}

void GeneralForms::save() const {
  PackedCandidates forms(numbers_.size());
  for (const auto& [packed, number] : numbers_) forms[number] = packed;
  runtime::Bytes mine;
  runtime::append_value(mine, std::uint64_t{forms.size()});
  for (const std::string& form : forms) runtime::append_text(mine, form);
  runtime::append_list(mine, noted_);
  runtime::append_list(mine, noted_typed_);
  const std::vector<runtime::Bytes> parts = communicator_.gather(mine);
  if (!communicator_.is_root()) return;

  std::vector<std::pair<Key, std::string_view>> entries;
  std::vector<TypedEntry> typed;
  for (const runtime::Bytes& part : parts) {
    runtime::ByteView rest = part;
    std::vector<std::string_view> own(runtime::take_value<std::uint64_t>(rest));
    for (std::string_view& form : own) form = runtime::take_text(rest);
    for (const Entry& entry : runtime::take_list<Entry>(rest)) entries.emplace_back(entry.key, own.at(entry.form));
    const auto told = runtime::take_list<TypedEntry>(rest);
    typed.insert(typed.end(), told.begin(), told.end());
  }
  std::ranges::sort(entries);
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  std::ranges::sort(typed);
  typed.erase(std::unique(typed.begin(), typed.end()), typed.end());
  std::unordered_map<std::string_view, std::uint64_t> numbers;
  runtime::Bytes list;
  std::vector<Entry> numbered;
  for (const auto& [key, form] : entries) {
    const auto [place, is_new] = numbers.try_emplace(form, numbers.size());
    if (is_new) runtime::append_text(list, form);
    numbered.push_back({key, place->second});
  }
  runtime::Bytes content;
  runtime::append_text(content, origin_);
  runtime::append_list(content, types_);
  runtime::append_list(content, instances_);
  runtime::append_value(content, std::uint64_t{numbers.size()});
  runtime::append_bytes(content, list);
  runtime::append_list(content, numbered);
  runtime::append_list(content, typed);
  const Key checksum = runtime::hash128(content);
  const std::vector<runtime::ByteView> pieces{runtime::bytes_of(std::span(&checksum, 1)), content};
  runtime::write_file(out_ / general_forms_file, pieces);
}

}  // namespace rulemill::dedup
