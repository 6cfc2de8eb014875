#include "runtime/process/program_digest.h"

#include <fstream>
#include <string>

#include "runtime/text/error.h"
#include "runtime/text/hash.h"

namespace rulemill::runtime {

const std::string& program_digest() {
  static const std::string digest = [] {
    constexpr const char* own = "/proc/self/exe";
    std::ifstream in(own, std::ios::binary);
    std::string piece(std::size_t{1} << 18, '\0');
    Hasher hasher;
    do {
      in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
      hasher.add(bytes_of(std::string_view(piece).substr(0, static_cast<std::size_t>(in.gcount()))));
    } while (in);
    if (!in.eof()) throw IoError(own, "cannot be read");
    return to_hex(hasher.digest128());
  }();
  return digest;
}

}  // namespace rulemill::runtime
