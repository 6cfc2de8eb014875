// Compares files of an output folder with their size and checksum in the manifest. The checksum of a table covers its
// content, that of any other file its bytes. Corrupt files are never used.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/files/manifest.h"
#include "runtime/mpi/communicator.h"

namespace rulemill::runtime {

/// Returns the manifest entry of a file with this content. The file must not be a table.
ManifestEntry make_manifest_entry(const std::string& name, const std::string& stage, ByteView content);

/// Returns how the file differs from its manifest entry, as a message; empty if it does not.
std::string find_corruption(const std::filesystem::path& folder, const ManifestEntry& entry);

/// Reads a file. Throws InputError if it is not in the manifest or differs from its entry.
std::string read_verified(const Manifest& manifest, const std::string& name);

/// Collective. Returns the names of the stage's corrupt or missing files on every rank. The first rank, which alone has
/// the manifest, logs a warning for each. The reading is distributed over the ranks.
std::vector<std::string> find_damaged_files(const std::filesystem::path& folder, const Manifest* manifest,
                                            const std::string& stage, const Communicator& communicator);

}  // namespace rulemill::runtime
