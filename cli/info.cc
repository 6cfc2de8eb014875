// `rulemill info FILE`: what a table file holds and where it came from, and whether it is whole.
#include "cli/command.h"
#include "cli/text_table.h"
#include "runtime/quantity.h"
#include "runtime/table_file.h"

namespace rulemill::cli {
namespace {

std::string type_name(const runtime::TableColumn& column) {
  constexpr const char* names[] = {"u8", "u16", "u32", "u64", "i64", "f64"};
  const std::string name = names[static_cast<std::size_t>(column.type)];
  return column.width == 1 ? name : name + " × " + std::to_string(column.width);
}

std::string value_text(const runtime::Attribute& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<std::uint64_t>(&value)) return std::to_string(*number);
  return std::to_string(std::get<double>(value));
}

void show(Context& context, const std::string& path) {
  const runtime::TableReader table(path);
  table.verify();
  context.print(path + ": a table of " + table.schema().name + ", version " + std::to_string(table.schema().version) +
                ", " + runtime::with_commas(table.rows()) + " rows, checksum " + table.checksum() + " (checked)\n\n");
  auto& report = context.report;
  report = {{"file", path},
            {"schema", table.schema().name},
            {"version", table.schema().version},
            {"rows", table.rows()},
            {"checksum", table.checksum()}};
  TextTable columns({"column", "type"});
  for (const auto& column : table.columns()) {
    columns.add({column.name, type_name(column)});
    report["columns"].push_back({{"name", column.name}, {"type", type_name(column)}});
  }
  TextTable attributes({"attribute", "value"});
  for (const auto& [name, value] : table.attributes()) {
    attributes.add({name, value_text(value)});
    std::visit([&, &key = name](const auto& plain) { report["attributes"][key] = plain; }, value);
  }
  context.print(columns.text());
  if (!attributes.empty()) context.print("\n" + attributes.text());
}

}  // namespace

void add_info(CLI::App& app, Options& options, Command& chosen) {
  auto* info = app.add_subcommand("info", "Say what a table file (a shard) holds, and check it");
  auto path = std::make_shared<std::string>();
  info->add_option("FILE", *path, "a file written by rulemill (*.h5)")->required();
  add_common_options(*info, options);
  info->callback([path, &chosen] { chosen = [path](Context& context) { show(context, *path); }; });
}

}  // namespace rulemill::cli
