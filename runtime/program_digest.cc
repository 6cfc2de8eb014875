#include "runtime/program_digest.h"

#include "runtime/atomic_file.h"
#include "runtime/hash.h"

namespace rulemill::runtime {

const std::string& program_digest() {
  static const std::string digest = to_hex(hash128(bytes_of(read_file("/proc/self/exe"))));
  return digest;
}

}  // namespace rulemill::runtime
