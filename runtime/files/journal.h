// An append-only log of (key, payload) records that survives a kill at any time. Each record has a checksum; opening a
// journal truncates an incomplete tail. The header names the inputs, so that a journal of other inputs is rejected.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/text/bytes.h"

namespace rulemill::runtime {

class Journal {
 public:
  /// The location of a payload in the file.
  struct Location {
    std::uint64_t offset = 0, size = 0;
  };
  struct Record {
    std::string key;
    Location location;  // of the payload, for read()
  };

  /// Opens a journal for appending, or creates it. `owner`: a digest of the inputs of the records. Throws InputError if
  /// the file is not a journal or has a different owner, IoError if it cannot be written.
  Journal(std::filesystem::path path, std::string_view owner);
  /// Opens a journal of an output folder, whose inputs the manifest has checked. Replaces a corrupt journal or one of a
  /// different owner by an empty one, with a warning.
  static Journal open_in_folder(const std::filesystem::path& folder, const std::string& name, std::string_view owner);
  ~Journal();
  Journal(Journal&& other) noexcept;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Returns the records at the time of opening, in order.
  const std::vector<Record>& records() const { return records_; }
  /// The same; the journal no longer holds them.
  std::vector<Record> take_records() { return std::exchange(records_, {}); }
  /// Returns the size of the incomplete tail that opening truncated.
  std::uint64_t truncated_bytes() const { return truncated_bytes_; }

  /// The record is written with many others, or by flush(): then it survives the end of the process. After sync(), it
  /// also survives a failure of the machine.
  Location append(std::string_view key, ByteView payload);
  Location append(std::string_view key, std::string_view payload) { return append(key, bytes_of(payload)); }
  void flush();
  void sync();
  std::string read(const Location& location) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;  // of the file including the buffer
  Bytes buffer_;
  bool unsynced_ = false;  // whether there were appends since sync()
  std::vector<Record> records_;
  std::uint64_t truncated_bytes_ = 0;
};

}  // namespace rulemill::runtime
