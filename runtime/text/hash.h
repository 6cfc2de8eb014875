// XXH3 hashes of 64 and 128 bits, in one call or incrementally. Equal bytes have equal hashes on every machine.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/text/bytes.h"

namespace rulemill::runtime {

struct Hash128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  bool operator==(const Hash128&) const = default;
  auto operator<=>(const Hash128&) const = default;
};

std::uint64_t hash64(ByteView bytes, std::uint64_t seed = 0);
Hash128 hash128(ByteView bytes, std::uint64_t seed = 0);

/// Fixed width, lower case.
std::string to_hex(std::uint64_t value);
std::string to_hex(const Hash128& value);

/// An incremental hash. Its digest is that of the concatenation of all added bytes.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  void add(ByteView bytes);
  /// Adds the length first, so that ("a", "bc") and ("ab", "c") differ.
  void add_text(std::string_view text);
  void add_number(std::uint64_t number);
  std::uint64_t digest64() const;
  Hash128 digest128() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rulemill::runtime
