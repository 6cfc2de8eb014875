// Where costs come from that are not the analytic model's: times of single nodes, and of a node with the activation
// that the runtime runs inside it, measured once each and kept in a table. A table belongs to a runtime, its version, a
// machine and a number of threads, and is refused elsewhere.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algebra/library/library.h"
#include "runtime/subprocess.h"

namespace rulemill::optimize {

/// A node at known shapes, and perhaps what follows it at once.
struct CostQuery {
  algebra::InstanceId instance{};
  std::vector<std::vector<std::int64_t>> inputs;
  std::vector<bool> constant;  // which inputs are weights
  std::vector<std::int64_t> sizes;
  std::optional<algebra::InstanceId> then;
};

class CostSource {
 public:
  virtual ~CostSource() = default;
  /// Seconds, or nothing if it does not know: then the analytic model says.
  virtual std::optional<double> seconds(const CostQuery& query) = 0;
  /// For the report: "onnxruntime 1.31.0, 1 thread, 212 times measured".
  virtual std::string description() const = 0;
  /// Keeps what was measured. Throws IoError.
  virtual void save() {}
};

/// Times by the text of a query, and what they belong to.
struct CostTable {
  std::string runtime, machine;  // "onnxruntime 1.31.0"; processor and number of cores
  std::uint32_t threads = 1;
  std::map<std::string, double> seconds;  // below zero: cannot be measured
};

/// "conv2d{act=none,pad=same,stride=1}(1x64x56x56, weights 64x64x3x3) then relu{}".
std::string text_of(const CostQuery& query, const algebra::Library& library);
/// Throws InputError, which names the file: what is no table, or not all of one.
CostTable read_cost_table(const std::filesystem::path& path);
void write_cost_table(const CostTable& table, const std::filesystem::path& path);
/// This machine as tables name it.
std::string machine_name();

/// A table of this machine and `threads`, and nothing else. Throws InputError for another machine's.
std::unique_ptr<CostSource> table_costs(const std::filesystem::path& path, const algebra::Library& library,
                                        std::uint32_t threads);
/// What `path` has, and everything else measured by onnxruntime, in a process that `helper` starts, and kept there; an
/// empty path keeps nothing. Throws UsageError if onnxruntime cannot be had.
std::unique_ptr<CostSource> onnxruntime_costs(const std::vector<std::string>& helper, const std::filesystem::path& path,
                                              const algebra::Library& library, std::uint32_t threads);

}  // namespace rulemill::optimize
