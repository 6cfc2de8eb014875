// An append-only log of (key, payload) records that survives being killed: each record has a checksum, a torn tail is
// cut when the journal is opened, and the header names what the journal belongs to, so that a foreign one is refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/bytes.h"

namespace rulemill::runtime {

class Journal {
 public:
  /// Where a payload lies in the file.
  struct Place {
    std::uint64_t offset = 0, size = 0;
  };
  struct Record {
    std::string key;
    Place place;
    Bytes payload;  // unless payloads stay in the file
  };
  enum class Payloads : std::uint8_t {
    Held,
    InFile,  // read() has them; what is appended is handed on in larger pieces, by sync() at the latest
  };

  /// Opens for appending, or creates. `belongs_to`: a digest of the inputs that the records are about. Throws
  /// InputError if the file is no journal or belongs to something else (naming both), IoError if it cannot be written.
  Journal(std::filesystem::path path, std::string_view belongs_to, Payloads payloads = Payloads::Held);
  /// A journal of an output folder, whose manifest vouches for its inputs: one that is damaged or not of these inputs
  /// is begun anew, and a warning says what is lost.
  static Journal of_folder(const std::filesystem::path& folder, const std::string& name, std::string_view belongs_to,
                           Payloads payloads = Payloads::Held);
  ~Journal();
  Journal(Journal&& other) noexcept;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// What was there when it was opened, in order.
  const std::vector<Record>& records() const { return records_; }
  /// Bytes of a torn tail that opening cut off.
  std::uint64_t cut_bytes() const { return cut_bytes_; }

  /// Handed to the operating system at once, if payloads are held: survives the process's end, and the machine's after
  /// sync(). Returns where the payload is.
  Place append(std::string_view key, ByteView payload);
  Place append(std::string_view key, std::string_view payload) { return append(key, bytes_of(payload)); }
  void sync();
  /// A payload that lies in the file or was appended.
  std::string read(const Place& place) const;

 private:
  void write_out();

  std::filesystem::path path_;
  Payloads payloads_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;  // of the file, once what waits is written
  Bytes waiting_;           // for being written
  bool unsynced_ = false;   // something was appended since sync()
  std::vector<Record> records_;
  std::uint64_t cut_bytes_ = 0;
};

}  // namespace rulemill::runtime
