#include "runtime/files/json_file.h"

#include "runtime/files/atomic_file.h"

namespace rulemill::runtime {

void write_json(const std::filesystem::path& path, const Json& value) {
  // Values may contain file names, which need not be UTF-8.
  write_file(path, to_utf8_text(value, 2) + "\n");
}

Json read_json(const std::filesystem::path& path) { return parse_json(read_file(path), path.string()); }

}  // namespace rulemill::runtime
