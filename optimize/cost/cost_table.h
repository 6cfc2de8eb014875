// Files of measured times (HDF5), by a text of what was measured. A table belongs to a runtime with its version, to a
// machine or device and to a number of threads, and is rejected elsewhere.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "optimize/cost/cost_source.h"

namespace rulemill::optimize {

struct CostTable {
  std::string runtime, machine;  // "onnxruntime 1.31.0"; processor and number of cores, or a device
  std::uint32_t threads = 1;
  std::map<std::string, double> seconds;  // by query text; negative: unmeasurable
};

/// Throws InputError, which names the file, for a file that is not a complete table.
CostTable read_cost_table(const std::filesystem::path& path);
void write_cost_table(const CostTable& table, const std::filesystem::path& path);

/// Returns the name of this machine in tables.
std::string machine_name();
/// Throws InputError, which names the file, if the table belongs to none of these machines.
void require_machine(const CostTable& table, std::span<const std::string> machines, const std::filesystem::path& path);

/// Returns "conv2d{act=none,pad=same,stride=1}(1x64x56x56, weights 64x64x3x3) then relu{}".
std::string query_text(const CostQuery& query, const algebra::Library& library);

/// A table as a source. Derived classes may measure what it lacks.
class TableCosts : public CostSource {
 public:
  TableCosts(CostTable table, const algebra::Library& library) : table_(std::move(table)), library_(library) {}

  std::optional<double> seconds(const CostQuery& query) override;
  std::string description() const override;

 protected:
  static constexpr double unmeasurable = -1;

  /// Returns seconds or `unmeasurable`, which are added to the table; nullopt adds nothing.
  virtual std::optional<double> measure(const CostQuery&) { return std::nullopt; }

  std::string table_text() const;
  std::string unmeasurable_text() const;

  CostTable table_;
  const algebra::Library& library_;
  bool has_times_ = false;              // a query was answered
  std::set<std::string> unmeasurable_;  // queries that were not
};

/// A table to which measurements are added.
class MeasuredCosts : public TableCosts {
 public:
  /// `path` is the table's file; if empty, nothing is stored.
  MeasuredCosts(std::filesystem::path path, CostTable table, const algebra::Library& library)
      : TableCosts(std::move(table), library), path_(std::move(path)) {}

  std::string description() const override;
  void save() override;

 protected:
  std::optional<double> measure(const CostQuery& query) final;
  /// Returns seconds or `unmeasurable`.
  virtual double measure_now(const CostQuery& query) = 0;

 private:
  std::filesystem::path path_;
  std::uint64_t measured_count_ = 0;
};

/// Opens a table of one of `machines` and `threads`, which is used without measuring. Throws InputError for another
/// machine's table.
std::unique_ptr<CostSource> table_costs(const std::filesystem::path& path, const algebra::Library& library,
                                        std::uint32_t threads, std::span<const std::string> machines);

/// Random costs, a new number between 10^-8 and 10^-3 seconds at each query: the cheapest graph is a random one of
/// those that are equal to a model. Logarithms are uniform, so that several nodes are often cheaper than one.
std::unique_ptr<CostSource> random_costs(std::uint64_t seed);

}  // namespace rulemill::optimize
