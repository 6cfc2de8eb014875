#include "runtime/files/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <spdlog/spdlog.h>

#include <array>
#include <cerrno>
#include <fstream>

#include "runtime/files/atomic_file.h"
#include "runtime/process/input_file.h"
#include "runtime/text/error.h"
#include "runtime/text/hash.h"
#include "runtime/text/quantity.h"

// File format: "rulemill journal 1 OWNER\n", then records: key size (4 bytes), payload size (8), XXH3 of sizes, key and
// payload (8), key, payload; little-endian.
namespace rulemill::runtime {
namespace {

constexpr std::string_view magic = "rulemill journal 1 ";
constexpr std::size_t frame_bytes = 4 + 8 + 8;
constexpr std::size_t max_buffer_bytes = std::size_t{1} << 18;

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

/// Reads records one by one up to the first incomplete or corrupt one.
class RecordReader {
 public:
  RecordReader(const std::filesystem::path& path, std::uint64_t offset)
      : in_(path, std::ios::binary), offset_(offset), size_(std::filesystem::file_size(path)) {
    in_.seekg(static_cast<std::streamoff>(offset));
  }

  /// Returns false at the end of the valid records; then offset() is their end.
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
    record.location = {offset_ + frame_bytes + key_size, payload_size};
    offset_ += frame_bytes + text_.size();
    return true;
  }
  std::uint64_t offset() const { return offset_; }
  std::uint64_t size() const { return size_; }

 private:
  std::ifstream in_;
  std::uint64_t offset_, size_;
  std::string text_;
};

/// Includes the newline if there is one.
std::string first_line(const std::filesystem::path& path) {
  // Opening a pipe would wait for a writer.
  if (!std::filesystem::is_regular_file(path)) throw IoError(path.string(), "cannot be read: it is not a regular file");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw_io_error(path, "cannot be read", errno);
  std::string line;
  std::getline(in, line);
  return in.eof() ? line : line + "\n";
}

}  // namespace

Journal::Journal(std::filesystem::path path, std::string_view owner) : path_(std::move(path)) {
  RM_CHECK(owner.find('\n') == std::string_view::npos, "a journal's owner must be one line");
  const std::string header = std::string(magic) + std::string(owner) + "\n";
  if (!std::filesystem::exists(path_)) write_file(path_, header);
  const std::string first = first_line(path_);
  if (!first.starts_with(magic)) {
    throw InputError(path_.string(),
                     "is not a rulemill journal; expected it to begin with '" + std::string(magic) + "'");
  }
  if (first != header) {
    const auto found = first.substr(magic.size(), first.find('\n') - magic.size());
    throw InputError(path_.string(), "belongs to " + found + "; expected " + std::string(owner) +
                                         ": its inputs have changed; choose another folder or remove it");
  }
  RecordReader reader(path_, header.size());
  for (Record record; reader.next(record); record = {}) records_.push_back(std::move(record));
  size_ = reader.offset();
  truncated_bytes_ = reader.size() - size_;
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_APPEND | O_CLOEXEC);
  if (descriptor_ < 0) throw_write_error(path_, errno);
  if (truncated_bytes_ > 0 && ::ftruncate(descriptor_, static_cast<off_t>(size_)) != 0) {
    const int error = errno;
    ::close(descriptor_);
    throw_io_error(path_, "cannot truncate its incomplete end", error);
  }
}

Journal::Journal(Journal&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_),
      buffer_(std::move(other.buffer_)),
      unsynced_(other.unsynced_),
      records_(std::move(other.records_)),
      truncated_bytes_(other.truncated_bytes_) {}

Journal::~Journal() {
  if (descriptor_ < 0) return;
  try {
    flush();
  } catch (const Error& error) {
    spdlog::warn("{}", error.what());
  }
  ::close(descriptor_);
}

Journal Journal::open_in_folder(const std::filesystem::path& folder, const std::string& name, std::string_view owner) {
  const std::filesystem::path path = folder / name;
  try {
    Journal journal(path, owner);
    if (journal.truncated_bytes_ > 0) {
      spdlog::warn("{}: the last {} are damaged; that work will be repeated", path.string(),
                   format_bytes(journal.truncated_bytes_));
    }
    return journal;
  } catch (const InputError& error) {
    spdlog::warn("{}; a new one is started", error.what());
  }
  std::filesystem::remove(path);
  return Journal(path, owner);
}

Journal::Location Journal::append(std::string_view key, ByteView payload) {
  unsynced_ = true;
  append_value(buffer_, static_cast<std::uint32_t>(key.size()));
  append_value(buffer_, std::uint64_t{payload.size()});
  append_value(buffer_, checksum(key, text_of(payload)));
  const ByteView key_bytes = bytes_of(key);
  buffer_.insert(buffer_.end(), key_bytes.begin(), key_bytes.end());
  buffer_.insert(buffer_.end(), payload.begin(), payload.end());
  size_ += frame_bytes + key.size() + payload.size();
  const Location location{size_ - payload.size(), payload.size()};
  if (buffer_.size() >= max_buffer_bytes) flush();
  return location;
}

void Journal::flush() {
  for (ByteView rest = buffer_; !rest.empty();) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      buffer_.clear();
      throw_write_error(path_, errno);
    }
    rest = rest.subspan(static_cast<std::size_t>(written));
  }
  buffer_.clear();
}

void Journal::sync() {
  if (!unsynced_) return;
  unsynced_ = false;
  flush();
  if (const int error = sync_file(descriptor_); error != 0) throw_write_error(path_, error);
}

std::string Journal::read(const Location& location) const {
  const std::uint64_t written = size_ - buffer_.size();
  if (location.offset >= written)
    return std::string(text_of(ByteView(buffer_).subspan(location.offset - written, location.size)));
  std::string text(location.size, '\0');
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t got =
        ::pread(descriptor_, text.data() + at, text.size() - at, static_cast<off_t>(location.offset + at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_io_error(path_, "cannot be read", errno);
    if (got == 0) throw IoError(path_.string(), "cannot be read: it ends early");
    at += static_cast<std::size_t>(got);
  }
  return text;
}

}  // namespace rulemill::runtime
