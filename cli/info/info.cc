// `rulemill info FILE`: the kind of a file, its version and counts; the columns and origin of a table file, after
// checking it; the operators of a model, and how much of it the definitions cover.
#include <fmt/format.h>

#include "algebra/operators/aten_domain.h"
#include "cli/command.h"
#include "cli/info/file_kind.h"
#include "cli/model_processes.h"
#include "cli/text_table.h"
#include "optimize/onnx/export.h"
#include "optimize/report/coverage.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/table_file.h"
#include "runtime/text/error.h"
#include "runtime/text/quantity.h"

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

void show_file(Context& context, const std::string& path) {
  const runtime::TableReader table(path);
  table.verify();
  context.print(fmt::format("{}: a table of {}, version {}, {} rows, checksum {} (checked)\n\n", path,
                            table.schema().name, table.schema().version, runtime::format_count(table.rows()),
                            table.checksum()));
  auto& report = context.report;
  report = {{"file", path},
            {"kind", "table"},
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

std::string percent(double share, double whole) {
  return whole > 0 ? fmt::format("{:.1f}%", 100 * share / whole) : "-";
}

void show_model(Context& context, const std::string& path, const std::string& roundtrip) {
  if (!context.world.is_root()) return;
  algebra::Library library = load_library(context.options);
  algebra::Symbols symbols;
  optimize::GraphBank bank(library, symbols);
  const optimize::OnnxModel model = optimize::OnnxModel::read(path);
  if (model.domains().contains(algebra::aten_domain)) library.restrict_domains(model.domains());
  optimize::NodeInference inference(type_helper_command());
  const optimize::ImportedModel import = optimize::import_model(model, bank, &inference);
  if (!roundtrip.empty()) {
    std::set<std::string> written = model.domains();
    written.erase(algebra::aten_domain);
    library.restrict_domains(written);
    optimize::Fusion fusion(bank);
    auto plan = optimize::plan_export(import, bank, fusion, import.outputs, model.opset(), true);
    optimize::export_model(model, import, bank, std::move(plan), import.outputs).write(roundtrip);
  }
  const optimize::Coverage coverage = optimize::coverage_of(import, bank);
  const auto& [covered, all] = std::pair(coverage.covered, coverage.all);
  std::uint64_t nodes = 0;
  for (const auto& row : coverage.rows) nodes += row.share.nodes;
  context.print(fmt::format("{}: opset {}, {} nodes, {} of weights\n", path, model.opset(), nodes,
                            runtime::format_count(model.weight_bytes()) + " bytes"));
  context.print(
      fmt::format("covered by definitions: {} of float nodes, {} of arithmetic, {} of the weights that they read\n\n",
                  percent(static_cast<double>(covered.nodes), static_cast<double>(all.nodes)),
                  percent(covered.flops, all.flops), percent(covered.weight_bytes, all.weight_bytes)));
  TextTable table({"operator", "nodes", "arithmetic", "weights", "opaque, reason"});
  auto& report = context.report;
  report = {{"file", path}, {"kind", "model"}, {"opset", model.opset()}, {"weight_bytes", model.weight_bytes()}};
  auto share = [](const optimize::Share& of) -> runtime::Json {
    return {{"nodes", of.nodes}, {"flops", of.flops}, {"weight_bytes", of.weight_bytes}};
  };
  report["all"] = share(all);
  report["covered"] = share(covered);
  report["operators"] = runtime::Json::array();
  for (const auto& row : coverage.rows) {
    table.add({row.op_type, std::to_string(row.share.nodes), percent(row.share.flops, all.flops),
               percent(row.share.weight_bytes, all.weight_bytes), row.reason});
    runtime::Json entry = share(row.share);
    entry["op_type"] = row.op_type;
    entry["reason"] = row.reason;
    report["operators"].push_back(std::move(entry));
  }
  context.print(table.text());
}

bool is_table(const std::filesystem::path& path) {
  if (path.extension() == ".h5") return true;
  return std::filesystem::is_regular_file(path) && runtime::read_file(path).starts_with("rulemill table ");
}

void show_other(Context& context, const std::string& path) {
  const FileDescription description = describe_file(path, context.options);
  context.print(path + ": " + description.kind + ": " + description.text + "\n");
  context.report = description.json;
  context.report["file"] = path;
  context.report["kind"] = description.kind;
}

}  // namespace

void add_info(CLI::App& app, Options& options, Command& chosen) {
  auto* info = app.add_subcommand("info", "Describe a file of rulemill: its kind, version and counts");
  auto path = std::make_shared<std::string>();
  options.files
      .reads(info->add_option(
                 "FILE", *path,
                 "any file or folder that rulemill reads or writes: a model, database, table, run, report, ..."),
             PathKind::Model)
      ->required();
  auto roundtrip = std::make_shared<std::string>();
  options.files.writes(info->add_option("--roundtrip", *roundtrip,
                                        "write the model to this file after import and export, without applying rules"),
                       PathKind::NewModel);
  add_general_options(*info, options);
  info->callback([path, roundtrip, &chosen] {
    chosen = [path, roundtrip](Context& context) {
      if (std::filesystem::path(*path).extension() == ".onnx") {
        show_model(context, *path, *roundtrip);
      } else if (!roundtrip->empty()) {
        throw runtime::UsageError("--roundtrip", "needs a model (*.onnx) as FILE");
      } else if (is_table(*path)) {
        show_file(context, *path);
      } else {
        runtime::on_first_rank(context.world, [&] { show_other(context, *path); });
      }
    };
  });
}

}  // namespace rulemill::cli
