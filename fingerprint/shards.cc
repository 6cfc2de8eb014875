#include "fingerprint/shards.h"

#include <algorithm>
#include <bit>

#include "runtime/text/error.h"
#include "runtime/text/json.h"

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
    if (root.at("format") != "rulemill dictionary" || root.at("version") != 1)
      throw InputError(origin, "is not a dictionary of terms, version 1");
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

namespace {

/// Calls visit(name, column, values per row) for all columns but the fingerprints, in the order of the file.
template <class Rows, class Visit>
void visit_columns(Rows& rows, const Visit& visit) {
  visit("level", rows.level, 1);
  visit("output", rows.output, 1);
  visit("type", rows.type, 1);
  visit("instance", rows.instance, 1);
  visit("node", rows.node, 1);
  visit("arguments", rows.arguments, rows.arguments_width);
  visit("sizes", rows.sizes, rows.sizes_width);
  visit("orbit", rows.orbit, 1);
  visit("orbit_size", rows.orbit_size, 1);
  visit("renaming", rows.renaming, 1);
  visit("distinct_values", rows.distinct_values, 1);
  visit("symmetries", rows.symmetries, 1);
}

bool is_read(std::string_view column, ShardColumns columns) {
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, column) != names.end();
  };
  if (columns == ShardColumns::Terms) return !is_one_of({"orbit_size", "distinct_values"});
  return columns == ShardColumns::All || is_one_of({"type", "orbit", "distinct_values", "symmetries"});
}

}  // namespace

runtime::TableSummary write_shard(const std::filesystem::path& path, const ShardRows& rows,
                                  const runtime::Attributes& provenance) {
  runtime::TableWriter writer(shard_schema);
  for (const auto& [name, value] : provenance) writer.attribute(name, value);
  writer.attribute("first", rows.first);
  visit_columns(rows,
                [&](const char* name, const auto& column, std::uint32_t width) { writer.column(name, column, width); });
  writer.column("fingerprint", rows.fingerprint, 2, 0);
  return writer.commit(path);
}

ShardRows read_shard(const std::filesystem::path& path, const std::string& expected_digest, ShardColumns columns) {
  const runtime::TableReader reader(path, shard_schema);
  if (const std::string digest = reader.text("inputs"); digest != expected_digest) {
    throw InputError(path.string(),
                     "was made from other inputs (digest " + digest + ", expected " + expected_digest + ")");
  }
  ShardRows rows;
  rows.first = reader.number("first");
  rows.arguments_width = reader.width("arguments");
  rows.sizes_width = reader.width("sizes");
  visit_columns(rows, [&]<class Value>(const char* name, std::vector<Value>& column, std::uint32_t) {
    if (is_read(name, columns)) column = reader.read<Value>(name);
  });
  if (columns != ShardColumns::Terms) rows.fingerprint = reader.read<std::uint64_t>("fingerprint");
  return rows;
}

}  // namespace rulemill::fingerprint
