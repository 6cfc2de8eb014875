// Times of nodes, and of what follows them at once, on a GPU: each is planned and run by itself, once, and kept in a
// table that belongs to the device and to the versions of the driver and the libraries.
#pragma once

#include <filesystem>
#include <memory>

#include "optimize/cost_source.h"
#include "optimize/gpu/executor.h"

namespace rulemill::optimize::gpu {

/// `path` is a table, or a folder where one is kept for each device and versions; empty: nothing is kept. Throws
/// InputError for a table of another device or other versions.
std::unique_ptr<CostSource> gpu_costs(std::unique_ptr<Executor> executor, const std::filesystem::path& path,
                                      algebra::Library& library);
/// By this machine's GPU. Throws InputError if there is none.
std::unique_ptr<CostSource> cuda_costs(const std::filesystem::path& path, algebra::Library& library);

/// So many kernels, one after the other, that do next to nothing: what launching costs.
Plan launches(std::size_t steps);

/// Numbers in [-1, 1) that `seed` decides.
std::vector<float> some_numbers(std::size_t count, std::uint64_t seed);

}  // namespace rulemill::optimize::gpu
