// Where costs come from that are not the analytic model's: times of single nodes, and of a node with the activation
// that the runtime runs inside it, measured once each and kept in a table. A table belongs to a runtime, its version, a
// machine and a number of threads, and is refused elsewhere.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
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

/// A table of one of `machines` and `threads`, and nothing else. Throws InputError for another machine's.
std::unique_ptr<CostSource> table_costs(const std::filesystem::path& path, const algebra::Library& library,
                                        std::uint32_t threads, std::span<const std::string> machines);
/// What `path` has, and everything else measured by onnxruntime, in a process that `helper` starts, and kept there; an
/// empty path keeps nothing. Throws UsageError if onnxruntime cannot be had.
std::unique_ptr<CostSource> onnxruntime_costs(const std::vector<std::string>& helper, const std::filesystem::path& path,
                                              const algebra::Library& library, std::uint32_t threads);

}  // namespace rulemill::optimize
