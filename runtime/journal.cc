#include "runtime/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <spdlog/spdlog.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

#include "runtime/atomic_file.h"
#include "runtime/error.h"
#include "runtime/hash.h"
#include "runtime/quantity.h"

// File: "rulemill journal 1 BELONGS_TO\n", then records: key size (4 bytes), payload size (8), XXH3 of sizes, key and
// payload (8), key, payload; little-endian.
namespace rulemill::runtime {
namespace {

constexpr std::string_view magic = "rulemill journal 1 ";
constexpr std::size_t frame_bytes = 4 + 8 + 8;
constexpr std::size_t most_waiting = std::size_t{1} << 18;

template <class T>
T value_at(std::string_view text, std::size_t offset) {
  T value;
  std::memcpy(&value, text.data() + offset, sizeof value);
  return value;
}

std::uint64_t checksum(std::string_view key, std::string_view payload) {
  Hasher hasher;
  hasher.add_text(key);
  hasher.add_text(payload);
  return hasher.digest64();
}

/// Reads records one by one; of what is not a whole record nothing is held.
class Reader {
 public:
  Reader(const std::filesystem::path& path, std::uint64_t offset, Journal::Payloads payloads)
      : in_(path, std::ios::binary), offset_(offset), size_(std::filesystem::file_size(path)), payloads_(payloads) {
    in_.seekg(static_cast<std::streamoff>(offset));
  }

  /// Whether there was another; if not, offset() is where the whole records end.
  bool next(Journal::Record& record) {
    if (size_ - offset_ < frame_bytes) return false;
    std::array<char, frame_bytes> frame_data{};
    if (!in_.read(frame_data.data(), frame_bytes)) return false;
    const std::string_view frame(frame_data.data(), frame_bytes);
    const auto key_size = std::uint64_t{value_at<std::uint32_t>(frame, 0)};
    const auto payload_size = value_at<std::uint64_t>(frame, 4);
    const std::uint64_t rest = size_ - offset_ - frame_bytes;
    if (key_size > rest || payload_size > rest - key_size) return false;
    text_.resize(key_size + payload_size);
    if (!in_.read(text_.data(), static_cast<std::streamsize>(text_.size()))) return false;
    const std::string_view key = std::string_view(text_).substr(0, key_size);
    const std::string_view payload = std::string_view(text_).substr(key_size);
    if (value_at<std::uint64_t>(frame, 12) != checksum(key, payload)) return false;
    record.key = key;
    record.place = {offset_ + frame_bytes + key_size, payload_size};
    if (payloads_ == Journal::Payloads::Held) record.payload = copy_bytes(bytes_of(payload));
    offset_ += frame_bytes + text_.size();
    return true;
  }
  std::uint64_t offset() const { return offset_; }
  std::uint64_t size() const { return size_; }

 private:
  std::ifstream in_;
  std::uint64_t offset_, size_;
  Journal::Payloads payloads_;
  std::string text_;
};

std::string reason() { return std::generic_category().message(errno); }

/// With its end, if it has one.
std::string first_line(const std::filesystem::path& path) {
  // Opening a pipe waits until somebody writes into it.
  if (!std::filesystem::is_regular_file(path)) {
    throw IoError(path.string(), "cannot be read: it is not a regular file");
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) throw IoError(path.string(), "cannot be read: " + reason());
  std::string line;
  std::getline(in, line);
  return in.eof() ? line : line + "\n";
}

}  // namespace

Journal::Journal(std::filesystem::path path, std::string_view belongs_to, Payloads payloads)
    : path_(std::move(path)), payloads_(payloads) {
  RM_CHECK(belongs_to.find('\n') == std::string_view::npos, "a journal's owner is one line");
  const std::string header = std::string(magic) + std::string(belongs_to) + "\n";
  if (!std::filesystem::exists(path_)) write_file(path_, header);
  const std::string first = first_line(path_);
  if (!first.starts_with(magic)) {
    throw InputError(path_.string(),
                     "is not a rulemill journal; expected it to begin with '" + std::string(magic) + "'");
  }
  if (first != header) {
    const auto found = first.substr(magic.size(), first.find('\n') - magic.size());
    throw InputError(path_.string(), "belongs to " + found + "; expected " + std::string(belongs_to) +
                                         ": its inputs have changed, choose another folder or remove it");
  }
  Reader reader(path_, header.size(), payloads_);
  for (Record record; reader.next(record); record = {}) records_.push_back(std::move(record));
  size_ = reader.offset();
  cut_bytes_ = reader.size() - size_;
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_APPEND | O_CLOEXEC);
  if (descriptor_ < 0) throw IoError(path_.string(), "cannot be written: " + reason());
  if (cut_bytes_ > 0 && ::ftruncate(descriptor_, static_cast<off_t>(size_)) != 0) {
    const std::string why = reason();
    ::close(descriptor_);
    throw IoError(path_.string(), "its torn end cannot be cut: " + why);
  }
}

Journal::Journal(Journal&& other) noexcept
    : path_(std::move(other.path_)),
      payloads_(other.payloads_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_),
      waiting_(std::move(other.waiting_)),
      unsynced_(other.unsynced_),
      records_(std::move(other.records_)),
      cut_bytes_(other.cut_bytes_) {}

Journal::~Journal() {
  if (descriptor_ < 0) return;
  try {
    write_out();
  } catch (const Error& error) {
    spdlog::warn("{}", error.what());
  }
  ::close(descriptor_);
}

Journal Journal::of_folder(const std::filesystem::path& folder, const std::string& name, std::string_view belongs_to,
                           Payloads payloads) {
  const std::filesystem::path path = folder / name;
  try {
    Journal journal(path, belongs_to, payloads);
    if (journal.cut_bytes_ > 0) {
      spdlog::warn("{}: its last {} are torn or damaged; what they held is done again", path.string(),
                   in_bytes(journal.cut_bytes_));
    }
    return journal;
  } catch (const InputError& error) {
    spdlog::warn("{}; it is begun anew", error.what());
  }
  std::filesystem::remove(path);
  return Journal(path, belongs_to, payloads);
}

Journal::Place Journal::append(std::string_view key, ByteView payload) {
  unsynced_ = true;
  append_value(waiting_, static_cast<std::uint32_t>(key.size()));
  append_value(waiting_, std::uint64_t{payload.size()});
  append_value(waiting_, checksum(key, text_of(payload)));
  const ByteView key_bytes = bytes_of(key);
  waiting_.insert(waiting_.end(), key_bytes.begin(), key_bytes.end());
  waiting_.insert(waiting_.end(), payload.begin(), payload.end());
  size_ += frame_bytes + key.size() + payload.size();
  const Place place{size_ - payload.size(), payload.size()};
  if (payloads_ == Payloads::Held || waiting_.size() >= most_waiting) write_out();
  return place;
}

void Journal::write_out() {
  for (ByteView rest = waiting_; !rest.empty();) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      waiting_.clear();
      throw_write_error(path_, errno);
    }
    rest = rest.subspan(static_cast<std::size_t>(written));
  }
  waiting_.clear();
}

void Journal::sync() {
  if (!unsynced_) return;
  unsynced_ = false;
  write_out();
  if (::fdatasync(descriptor_) != 0) throw_write_error(path_, errno);
}

std::string Journal::read(const Place& place) const {
  const std::uint64_t written = size_ - waiting_.size();
  if (place.offset >= written) {
    return std::string(text_of(ByteView(waiting_).subspan(place.offset - written, place.size)));
  }
  std::string text(place.size, '\0');
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t got = ::pread(descriptor_, text.data() + at, text.size() - at, static_cast<off_t>(place.offset + at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw IoError(path_.string(), "cannot be read: " + (got < 0 ? reason() : "it ends early"));
    at += static_cast<std::size_t>(got);
  }
  return text;
}

}  // namespace rulemill::runtime
