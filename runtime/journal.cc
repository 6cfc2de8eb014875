#include "runtime/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <spdlog/spdlog.h>

#include <cerrno>
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

/// The size of the whole records from `offset` on; each is appended to `records`.
std::size_t read_records(std::string_view text, std::size_t offset, std::vector<Journal::Record>& records) {
  while (text.size() - offset >= frame_bytes) {
    const auto key_size = std::size_t{value_at<std::uint32_t>(text, offset)};
    const auto payload_size = value_at<std::uint64_t>(text, offset + 4);
    const std::size_t rest = text.size() - offset - frame_bytes;
    if (key_size > rest || payload_size > rest - key_size) break;
    const auto key = text.substr(offset + frame_bytes, key_size);
    const auto payload = text.substr(offset + frame_bytes + key_size, payload_size);
    if (value_at<std::uint64_t>(text, offset + 12) != checksum(key, payload)) break;
    records.push_back({std::string(key), copy_bytes(bytes_of(payload))});
    offset += frame_bytes + key_size + payload_size;
  }
  return offset;
}

std::string reason() { return std::generic_category().message(errno); }

}  // namespace

Journal::Journal(std::filesystem::path path, std::string_view belongs_to) : path_(std::move(path)) {
  RM_CHECK(belongs_to.find('\n') == std::string_view::npos, "a journal's owner is one line");
  const std::string header = std::string(magic) + std::string(belongs_to) + "\n";
  if (!std::filesystem::exists(path_)) write_file(path_, header);
  const std::string text = read_file(path_);
  if (text.rfind(magic, 0) != 0) {
    throw InputError(path_.string(),
                     "is not a rulemill journal; expected it to begin with '" + std::string(magic) + "'");
  }
  if (text.rfind(header, 0) != 0) {
    const auto found = text.substr(magic.size(), text.find('\n') - magic.size());
    throw InputError(path_.string(), "belongs to " + found + "; expected " + std::string(belongs_to) +
                                         ": its inputs have changed, choose another folder or remove it");
  }
  const std::size_t good = read_records(text, header.size(), records_);
  cut_bytes_ = text.size() - good;
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor_ < 0) throw IoError(path_.string(), "cannot be written: " + reason());
  if (cut_bytes_ > 0 && ::ftruncate(descriptor_, static_cast<off_t>(good)) != 0) {
    const std::string why = reason();
    ::close(descriptor_);
    throw IoError(path_.string(), "its torn end cannot be cut: " + why);
  }
}

Journal::Journal(Journal&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      records_(std::move(other.records_)),
      cut_bytes_(other.cut_bytes_) {}

Journal::~Journal() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Journal Journal::of_folder(const std::filesystem::path& folder, const std::string& name, std::string_view belongs_to) {
  const std::filesystem::path path = folder / name;
  try {
    Journal journal(path, belongs_to);
    if (journal.cut_bytes_ > 0) {
      spdlog::warn("{}: its last {} are torn or damaged; what they held is done again", path.string(),
                   in_bytes(journal.cut_bytes_));
    }
    return journal;
  } catch (const InputError& error) {
    spdlog::warn("{}; it is begun anew", error.what());
  }
  std::filesystem::remove(path);
  return Journal(path, belongs_to);
}

void Journal::append(std::string_view key, ByteView payload) {
  Bytes record;
  record.reserve(frame_bytes + key.size() + payload.size());
  append_value(record, static_cast<std::uint32_t>(key.size()));
  append_value(record, std::uint64_t{payload.size()});
  append_value(record, checksum(key, text_of(payload)));
  const ByteView key_bytes = bytes_of(key);
  record.insert(record.end(), key_bytes.begin(), key_bytes.end());
  record.insert(record.end(), payload.begin(), payload.end());
  for (ByteView rest = record; !rest.empty();) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_write_error(path_, errno);
    rest = rest.subspan(static_cast<std::size_t>(written));
  }
}

void Journal::sync() {
  if (::fdatasync(descriptor_) != 0) throw_write_error(path_, errno);
}

}  // namespace rulemill::runtime
