// Times of single nodes in onnxruntime, measured once each in a helper process
// (python/onnxruntime_helpers/node_costs.py).
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "optimize/cost/cost_source.h"

namespace rulemill::optimize {

/// Opens the table at `path`, and measures and adds what it lacks; an empty path stores nothing. `helper` is the
/// command that starts the helper process. Throws UsageError if onnxruntime is not available.
std::unique_ptr<CostSource> onnxruntime_costs(const std::vector<std::string>& helper, const std::filesystem::path& path,
                                              const algebra::Library& library, std::uint32_t threads);

}  // namespace rulemill::optimize
