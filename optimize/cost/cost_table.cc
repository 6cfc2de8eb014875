#include "optimize/cost/cost_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "runtime/files/table_file.h"
#include "runtime/process/interrupt.h"
#include "runtime/process/machine.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

const runtime::TableSchema schema{"cost table", 1};

class RandomCosts final : public CostSource {
 public:
  explicit RandomCosts(std::uint64_t seed) : numbers_(seed) {}
  std::optional<double> seconds(const CostQuery&) override {
    return std::pow(10, -8 + 5 * 0x1p-64 * static_cast<double>(numbers_()));
  }
  std::string description() const override { return "random"; }

 private:
  std::mt19937_64 numbers_;
};

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t dim : shape) text += (text.empty() ? "" : "x") + std::to_string(dim);
  return text.empty() ? "scalar" : text;
}

}  // namespace

CostTable read_cost_table(const std::filesystem::path& path) {
  const runtime::TableReader reader(path, schema);
  CostTable table{
      reader.text("runtime"), reader.text("machine"), static_cast<std::uint32_t>(reader.number("threads")), {}};
  const auto texts = reader.read<std::uint8_t>("query");
  const auto seconds = reader.read<double>("seconds");
  const std::size_t width = reader.width("query");
  for (std::size_t row = 0; row < seconds.size(); ++row) {
    const auto begin = texts.begin() + static_cast<std::ptrdiff_t>(row * width);
    const std::string text(begin, std::find(begin, begin + static_cast<std::ptrdiff_t>(width), 0));
    if (text.empty() || !std::isfinite(seconds[row]) || !table.seconds.emplace(text, seconds[row]).second)
      throw runtime::InputError(path.string(), fmt::format("row {}: expected the time of a node", row));
  }
  return table;
}

void write_cost_table(const CostTable& table, const std::filesystem::path& path) {
  std::size_t width = 1;
  for (const auto& [text, seconds] : table.seconds) width = std::max(width, text.size());
  std::vector<std::uint8_t> texts;
  std::vector<double> times;
  for (const auto& [text, seconds] : table.seconds) {
    texts.insert(texts.end(), text.begin(), text.end());
    texts.resize((times.size() + 1) * width, 0);
    times.push_back(seconds);
  }
  runtime::TableWriter writer(schema);
  writer.attribute("runtime", table.runtime);
  writer.attribute("machine", table.machine);
  writer.attribute("threads", std::uint64_t{table.threads});
  writer.column("query", texts, static_cast<std::uint32_t>(width), 0);
  writer.column("seconds", times, 1, 0);
  writer.commit(path);
}

std::string machine_name() {
  const runtime::Machine machine = runtime::describe_machine();
  return machine.cpu + ", " + std::to_string(machine.cores) + " cores";
}

void require_machine(const CostTable& table, std::span<const std::string> machines, const std::filesystem::path& path) {
  if (std::ranges::find(machines, table.machine) != machines.end()) return;
  std::string here;
  for (const std::string& machine : machines) here += (here.empty() ? "" : " with ") + machine;
  throw runtime::InputError(path.string(),
                            fmt::format("was measured on another machine ({}; this is {})", table.machine, here));
}

std::string query_text(const CostQuery& query, const algebra::Library& library) {
  std::string text = library.instance(query.instance).name + "(";
  for (std::size_t i = 0; i < query.inputs.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::string(query.constant.at(i) ? "weights " : "") + shape_text(query.inputs[i]);
  if (!query.sizes.empty()) text += "; " + shape_text(query.sizes);
  text += ")";
  return query.activation ? text + " then " + library.instance(*query.activation).name : text;
}

std::optional<double> TableCosts::seconds(const CostQuery& query) {
  if (library_.instance(query.instance).onnx.empty()) return std::nullopt;
  const std::string text = query_text(query, library_);
  auto found = table_.seconds.find(text);
  if (found == table_.seconds.end()) {
    const auto measured = measure(query);
    if (!measured) return std::nullopt;
    found = table_.seconds.emplace(text, *measured).first;
  }
  if (found->second < 0) {
    unmeasurable_.insert(text);
    return std::nullopt;
  }
  has_times_ = true;
  return found->second;
}

std::string TableCosts::description() const { return table_text() + unmeasurable_text(); }

std::string TableCosts::table_text() const {
  return fmt::format("{}, {} thread{}, a table of {} times", table_.runtime, table_.threads,
                     table_.threads == 1 ? "" : "s", table_.seconds.size());
}

std::string TableCosts::unmeasurable_text() const {
  if (unmeasurable_.empty()) return {};
  return fmt::format("; {} nodes could not be timed and have costs of the device model", unmeasurable_.size());
}

std::string MeasuredCosts::description() const {
  return table_text() + fmt::format(", {} of them measured now", measured_count_) + unmeasurable_text();
}

void MeasuredCosts::save() {
  if (!path_.empty() && measured_count_ > 0) write_cost_table(table_, path_);
}

std::optional<double> MeasuredCosts::measure(const CostQuery& query) {
  runtime::throw_if_interrupted("measuring costs");
  ++measured_count_;
  return measure_now(query);
}

std::unique_ptr<CostSource> table_costs(const std::filesystem::path& path, const algebra::Library& library,
                                        std::uint32_t threads, std::span<const std::string> machines) {
  CostTable table = read_cost_table(path);
  require_machine(table, machines, path);
  if (table.threads != threads) {
    throw runtime::InputError(path.string(),
                              fmt::format("was measured with {} threads; expected {}", table.threads, threads));
  }
  return std::make_unique<TableCosts>(std::move(table), library);
}

std::unique_ptr<CostSource> random_costs(std::uint64_t seed) { return std::make_unique<RandomCosts>(seed); }

}  // namespace rulemill::optimize
