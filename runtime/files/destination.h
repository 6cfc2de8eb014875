// The destination of an output, as a user names it: a file, which is reached through symbolic links and replaced
// atomically; a device or a pipe, which is written to and never replaced; or a file descriptor of this process, such as
// standard output, named "-", /dev/stdout or /dev/fd/N.
#pragma once

#include <filesystem>

namespace rulemill::runtime {

struct Destination {
  enum class Kind { File, Stream, Descriptor };
  Kind kind = Kind::File;
  std::filesystem::path path;  // of a file or stream: after following links
  int descriptor = -1;

  bool is_standard_output() const;
};

/// Follows links. A file need not exist. Throws IoError if there are too many links.
Destination destination_of(const std::filesystem::path& path);

/// Returns whether both name the same file: the same inode, or the same place if neither exists. Streams and
/// descriptors are no files.
bool is_same_file(const Destination& a, const Destination& b);

/// Returns the path with links in its folders followed. Nothing on it needs to exist.
std::filesystem::path canonical_place(const std::filesystem::path& path);

}  // namespace rulemill::runtime
