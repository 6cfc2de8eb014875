#include "algebra/rules/rule_set_file.h"

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "algebra/rules/rule_set_reader.h"
#include "runtime/text/error.h"
#include "runtime/text/hash.h"

namespace rulemill::algebra {
namespace {

constexpr std::size_t max_tag_bytes = 5, max_varint_bytes = 10;  // protobuf accepts no longer ones

/// Takes an integer in protobuf's encoding from the front; nullopt if it is cut short or longer than `max_bytes`.
std::optional<std::uint64_t> take_varint(std::string_view& bytes, std::size_t max_bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < std::min(bytes.size(), max_bytes); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    value |= std::uint64_t{byte & 127U} << (7 * i);
    if (byte > 127) continue;
    bytes.remove_prefix(i + 1);
    return value;
  }
  return std::nullopt;
}

/// A field of a message: its tag, the bytes of tag and length, and the bytes of the content after them.
struct Field {
  std::uint64_t tag = 0;
  std::size_t header_bytes = 0, size = 0;
};
constexpr std::uint64_t length_delimited = 2;
constexpr std::uint64_t rule_tag = proto::RuleSet::kRulesFieldNumber << 3 | length_delimited;

/// Returns the first field. Deprecated groups are not supported.
std::optional<Field> first_field(std::string_view bytes) {
  std::string_view rest = bytes;
  const auto tag = take_varint(rest, max_tag_bytes);
  if (!tag || *tag > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  Field field{*tag, 0, 0};
  const std::uint64_t wire_type = *tag & 7;
  if (wire_type == length_delimited) {
    const auto size = take_varint(rest, max_varint_bytes);
    if (!size) return std::nullopt;
    field.size = *size;
  } else if (wire_type == 0) {
    if (!take_varint(rest, max_varint_bytes)) return std::nullopt;
  } else if (wire_type == 1 || wire_type == 5) {
    field.size = wire_type == 1 ? 8 : 4;
  } else {
    return std::nullopt;
  }
  field.header_bytes = bytes.size() - rest.size();
  return field;
}

}  // namespace

RuleRecord parse_stored_rule(const StoredRule& stored, Library& library, TermBank& bank, Symbols& symbols) {
  proto::Rule rule;
  if (!rule.ParseFromString(stored.bytes)) fail_not_a_database(stored.place);
  return read_rule(rule, stored.place, stored.digested, library, bank, symbols);
}

RuleSetFile::RuleSetFile(const std::filesystem::path& path, const Library& library) : file_(path) {
  const google::protobuf::LogSilencer quiet;  // errors are reported here
  const std::string origin = path.string();
  if (file_.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) fail_not_a_database(origin);
  proto::RuleSet from;
  if (!from.ParseFromString(read_all_but_rules()) || from.rules_size() > 0) fail_not_a_database(origin);
  check_schema_version(from, has_widening_, origin);
  verify_checksum();
  provenance_ = read_provenance(from.provenance(), origin, library);
}

/// Finds the rules, and returns the other fields. A protobuf parser reads fields in any order; so does this.
std::string RuleSetFile::read_all_but_rules() {
  std::string others;
  proto::Rule rule;
  for (std::size_t at = 0; at < file_.size();) {
    const std::optional<Field> field = first_field(file_.read(at, 2 * max_varint_bytes));
    if (!field || field->size > file_.size() - at - field->header_bytes) fail_not_a_database(file_.path().string());
    const std::size_t content = at + field->header_bytes;
    if (field->tag == rule_tag) {
      if (!rule.ParseFromString(file_.read(content, field->size))) fail_not_a_database(file_.path().string());
      has_widening_ = has_widening_ || rule.widens();
      rules_.push_back({rule.id(), static_cast<Certificate::Kind>(rule.certificate().kind()), content, field->size});
    } else {
      others += file_.read(at, field->header_bytes + field->size);
    }
    at = content + field->size;
  }
  return others;
}

void RuleSetFile::verify_checksum() const {
  constexpr std::size_t chunk_bytes = std::size_t{1} << 20;
  const std::size_t content = file_.size() - std::min(file_.size(), checksum_bytes);
  runtime::Hasher hasher;
  for (std::size_t at = 0; at < content; at += chunk_bytes)
    hasher.add(runtime::bytes_of(file_.read(at, std::min(chunk_bytes, content - at))));
  if (file_.read(content, checksum_bytes) != checksum_field(hasher.digest128())) fail_checksum(file_.path().string());
}

RuleSetFile::Record RuleSetFile::read(std::size_t rule) const {
  const Entry& entry = rules_.at(rule);
  const std::string origin = file_.path().string();
  Record record;
  record.rule.bytes = file_.read(entry.offset, entry.size);
  proto::Rule from;
  if (!from.ParseFromString(record.rule.bytes) || from.id() != entry.id)
    throw runtime::InputError(origin, "was changed while it was read");
  record.rule.place = place_of_rule(origin, rule, from);
  std::set<std::string> operators;
  for (const proto::Node& node : from.nodes()) operators.insert(node.operator_());
  for (const auto& [name, digest] : provenance_.operator_digests) {
    if (operators.contains(name)) record.rule.digested.push_back(name);
  }
  record.certificate = {static_cast<Certificate::Kind>(from.certificate().kind()), from.certificate().text()};
  return record;
}

}  // namespace rulemill::algebra
