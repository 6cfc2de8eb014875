// Measured times kept in a file (HDF5), by the text of what was measured, and what they belong to: a runtime with its
// version, a machine or a device, a number of threads. Nowhere else are they believed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "optimize/cost_source.h"

namespace rulemill::optimize {

struct CostTable {
  std::string runtime, machine;  // "onnxruntime 1.31.0"; processor and number of cores, or a device
  std::uint32_t threads = 1;
  std::map<std::string, double> seconds;  // below zero: cannot be measured
};

/// Throws InputError, which names the file: what is no table, or not all of one.
CostTable read_cost_table(const std::filesystem::path& path);
void write_cost_table(const CostTable& table, const std::filesystem::path& path);

/// This machine as tables name it.
std::string machine_name();
/// Throws InputError, which names the file, for a table of a machine that is none of these.
void require_machine(const CostTable& table, std::span<const std::string> machines, const std::filesystem::path& path);

/// "conv2d{act=none,pad=same,stride=1}(1x64x56x56, weights 64x64x3x3) then relu{}".
std::string text_of(const CostQuery& query, const algebra::Library& library);

/// A table as a source. Those that can measure say how.
class TableCosts : public CostSource {
 public:
  TableCosts(CostTable table, const algebra::Library& library) : table_(std::move(table)), library_(library) {}

  std::optional<double> seconds(const CostQuery& query) override;
  std::string description() const override;

 protected:
  static constexpr double cannot = -1;

  /// Seconds, or `cannot`, both to be kept. Nothing: it is asked again the next time.
  virtual std::optional<double> measure(const CostQuery&) { return std::nullopt; }

  CostTable table_;
  const algebra::Library& library_;
};

/// A table that measurements are added to.
class MeasuredCosts : public TableCosts {
 public:
  /// `path`: of its file; without one it is not kept.
  MeasuredCosts(std::filesystem::path path, CostTable table, const algebra::Library& library)
      : TableCosts(std::move(table), library), path_(std::move(path)) {}

  std::string description() const override;
  void save() override;

 protected:
  std::optional<double> measure(const CostQuery& query) final;
  /// As measure(), now.
  virtual double measured(const CostQuery& query) = 0;

 private:
  std::filesystem::path path_;
  std::uint64_t count_ = 0;
};

}  // namespace rulemill::optimize
