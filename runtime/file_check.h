// Files of an output folder against what its manifest says of them: their size and checksum, which is of a table's
// content and of any other file's bytes. What does not agree is never used.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/communicator.h"
#include "runtime/manifest.h"

namespace rulemill::runtime {

/// The entry of a file with this content, which is not a table.
ManifestEntry entry_of(const std::string& name, const std::string& stage, ByteView content);

/// What is wrong with the file, in words; empty if nothing is.
std::string fault_of(const std::filesystem::path& folder, const ManifestEntry& entry);

/// A listed file's content. Throws InputError, naming it, if it is not listed or not as listed.
std::string read_listed(const Manifest& manifest, const std::string& name);

/// Collective: the stage's files that are damaged or gone, by name, on every rank; the first one, which alone has the
/// manifest, warns of each. Ranks share the reading.
std::vector<std::string> damaged_files(const std::filesystem::path& folder, const Manifest* manifest,
                                       const std::string& stage, const Communicator& communicator);

}  // namespace rulemill::runtime
