#include "runtime/text/hash.h"

#include <xxhash.h>

#include <array>
#include <new>

namespace rulemill::runtime {

std::uint64_t hash64(ByteView bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

Hash128 hash128(ByteView bytes, std::uint64_t seed) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed);
  return {hash.high64, hash.low64};
}

std::string to_hex(std::uint64_t value) {
  std::string text(16, '0');
  for (int digit = 15; digit >= 0; --digit, value >>= 4)
    text[static_cast<std::size_t>(digit)] = "0123456789abcdef"[value & 15];
  return text;
}

std::string to_hex(const Hash128& value) { return to_hex(value.high) + to_hex(value.low); }

struct Hasher::Impl {
  // XXH3's 64-bit and 128-bit digests differ only in the last step, so that one state is enough.
  XXH3_state_t* xxh = XXH3_createState();
  ~Impl() { XXH3_freeState(xxh); }
};

Hasher::Hasher() : impl_(std::make_unique<Impl>()) {
  if (impl_->xxh == nullptr) throw std::bad_alloc();
  XXH3_128bits_reset(impl_->xxh);
}

Hasher::~Hasher() = default;

void Hasher::add(ByteView bytes) { XXH3_128bits_update(impl_->xxh, bytes.data(), bytes.size()); }

void Hasher::add_number(std::uint64_t number) {
  std::array<std::byte, 8> little_endian{};
  for (std::size_t i = 0; i < 8; ++i) little_endian[i] = static_cast<std::byte>(number >> (8 * i));
  add(little_endian);
}

void Hasher::add_text(std::string_view text) {
  add_number(text.size());
  add(bytes_of(text));
}

std::uint64_t Hasher::digest64() const { return XXH3_64bits_digest(impl_->xxh); }

Hash128 Hasher::digest128() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(impl_->xxh);
  return {hash.high64, hash.low64};
}

}  // namespace rulemill::runtime
