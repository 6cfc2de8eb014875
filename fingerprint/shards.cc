#include "fingerprint/shards.h"

#include <algorithm>
#include <bit>

#include "runtime/text/error.h"
#include "runtime/text/json_number.h"

namespace rulemill::fingerprint {

using runtime::InputError;
using runtime::Json;

void ShardRows::resize(std::size_t rows) {
  level.resize(rows);
  output.resize(rows);
  type.resize(rows);
  instance.assign(rows, no_instance);
  node.assign(rows, enumerate::no_id);
  arguments.assign(rows * arguments_width, enumerate::no_id);
  sizes.assign(rows * sizes_width, enumerate::no_id);
  orbit.resize(rows);
  orbit_size.resize(rows);
  renaming.resize(rows);
  distinct_values.resize(rows);
  fingerprint.resize(2 * rows);
  symmetries.resize(rows);
}

std::string Dictionary::InstanceRecord::key() const {
  std::string text = name + "(";
  for (const auto& [key, value] : parameters) text += key + "=" + algebra::to_string(value) + " ";
  for (const std::uint32_t rank : ranks) text += " " + std::to_string(rank);
  return text;
}

std::string Dictionary::to_json() const {
  Json root;
  root["format"] = "rulemill dictionary";
  root["version"] = 1;
  root["types"] = types;
  root["degrees"] = degrees;
  Json list = Json::array();
  for (const InstanceRecord& entry : instances) {
    Json parameters = Json::object();
    for (const auto& [name, value] : entry.parameters) {
      const auto store = [&, &key = name](const auto& plain) {
        constexpr bool is_open = std::is_same_v<std::remove_cvref_t<decltype(plain)>, algebra::Symbolic>;
        if constexpr (!is_open) parameters[key] = plain;  // enumerated parameters are fixed
      };
      std::visit(store, value);
    }
    list.push_back({{"operator", entry.name}, {"parameters", parameters}, {"ranks", entry.ranks}});
  }
  root["instances"] = list;
  root["variables"] = variables;
  return runtime::to_text(root, 1) + "\n";
}

Dictionary Dictionary::parse(const std::string& json, const std::string& origin) {
  Dictionary dictionary;
  try {
    const Json root = runtime::parse_json(json, origin);
    if (root.at("format") != "rulemill dictionary" || root.at("version") != 1) {
      throw InputError(origin, "is not a dictionary of terms, version 1");
    }
    for (const Json& type : root.at("types")) dictionary.types.push_back(runtime::to_integers<std::int64_t>(type));
    dictionary.degrees = runtime::to_integers<std::uint32_t>(root.at("degrees"));
    dictionary.variables = root.at("variables").get<std::vector<std::string>>();
    for (const Json& entry : root.at("instances")) {
      InstanceRecord made{
          entry.at("operator").get<std::string>(), {}, runtime::to_integers<std::uint32_t>(entry.at("ranks"))};
      for (const auto& [name, value] : entry.at("parameters").items()) {
        if (value.is_number_integer())
          made.parameters[name] = runtime::to_integer<std::int64_t>(value);
        else if (value.is_string())
          made.parameters[name] = value.get<std::string>();
        else
          made.parameters[name] = runtime::to_integers<std::int64_t>(value);
      }
      dictionary.instances.push_back(std::move(made));
    }
  } catch (const Json::exception& error) {
    throw InputError(origin, std::string("is not a dictionary of terms: ") + error.what());
  }
  return dictionary;
}

std::string shard_name(std::uint64_t index) {
  std::string digits = std::to_string(index);
  return "shards/terms-" + std::string(5 - std::min<std::size_t>(5, digits.size()), '0') + digits + ".h5";
}

std::uint64_t rows_per_shard(std::uint64_t total) {
  // About 512 shards, so that as many ranks have work; at most 2^20 rows, so that a shard fits into memory.
  return std::clamp<std::uint64_t>(std::bit_ceil(total / 512 + 1), std::uint64_t{1} << 15, std::uint64_t{1} << 20);
}

runtime::TableSummary write_shard(const std::filesystem::path& path, const ShardRows& rows,
                                  const runtime::Attributes& provenance) {
  runtime::TableWriter writer(shard_schema);
  for (const auto& [name, value] : provenance) writer.attribute(name, value);
  writer.attribute("first", rows.first);
  writer.column("level", rows.level);
  writer.column("output", rows.output);
  writer.column("type", rows.type);
  writer.column("instance", rows.instance);
  writer.column("node", rows.node);
  writer.column("arguments", rows.arguments, rows.arguments_width);
  writer.column("sizes", rows.sizes, rows.sizes_width);
  writer.column("orbit", rows.orbit);
  writer.column("orbit_size", rows.orbit_size);
  writer.column("renaming", rows.renaming);
  writer.column("distinct_values", rows.distinct_values);
  writer.column("symmetries", rows.symmetries);
  writer.column("fingerprint", rows.fingerprint, 2, 0);
  return writer.commit(path);
}

namespace {

void check_inputs(const runtime::TableReader& reader, const std::filesystem::path& path,
                  const std::string& expected_digest) {
  if (const std::string digest = reader.text("inputs"); digest != expected_digest) {
    throw InputError(path.string(),
                     "was made from other inputs (digest " + digest + ", expected " + expected_digest + ")");
  }
}

}  // namespace

FingerprintRows read_fingerprints(const std::filesystem::path& path, const std::string& expected_digest) {
  const runtime::TableReader reader(path, shard_schema);
  check_inputs(reader, path, expected_digest);
  FingerprintRows rows;
  rows.first = reader.number("first");
  rows.type = reader.read<std::uint16_t>("type");
  rows.orbit = reader.read<std::uint32_t>("orbit");
  rows.distinct_values = reader.read<std::uint32_t>("distinct_values");
  rows.symmetries = reader.read<std::uint64_t>("symmetries");
  rows.fingerprint = reader.read<std::uint64_t>("fingerprint");
  return rows;
}

namespace {

/// Reads the columns of terms.
ShardRows read_terms(const runtime::TableReader& reader) {
  ShardRows rows;
  rows.first = reader.number("first");
  rows.arguments_width = reader.width("arguments");
  rows.sizes_width = reader.width("sizes");
  rows.level = reader.read<std::uint8_t>("level");
  rows.output = reader.read<std::uint8_t>("output");
  rows.type = reader.read<std::uint16_t>("type");
  rows.instance = reader.read<std::uint16_t>("instance");
  rows.node = reader.read<std::uint32_t>("node");
  rows.arguments = reader.read<std::uint32_t>("arguments");
  rows.sizes = reader.read<std::uint32_t>("sizes");
  rows.orbit = reader.read<std::uint32_t>("orbit");
  rows.renaming = reader.read<std::uint32_t>("renaming");
  rows.symmetries = reader.read<std::uint64_t>("symmetries");
  return rows;
}

}  // namespace

ShardRows read_shard(const std::filesystem::path& path, const std::string& expected_digest) {
  const runtime::TableReader reader(path, shard_schema);
  check_inputs(reader, path, expected_digest);
  ShardRows rows = read_terms(reader);
  rows.orbit_size = reader.read<std::uint32_t>("orbit_size");
  rows.distinct_values = reader.read<std::uint32_t>("distinct_values");
  rows.fingerprint = reader.read<std::uint64_t>("fingerprint");
  return rows;
}

ShardRows read_shard_terms(const std::filesystem::path& path, const std::string& expected_digest) {
  const runtime::TableReader reader(path, shard_schema);
  check_inputs(reader, path, expected_digest);
  return read_terms(reader);
}

}  // namespace rulemill::fingerprint
