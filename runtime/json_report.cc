#include "runtime/json_report.h"

#include <algorithm>
#include <string>

#include "runtime/atomic_file.h"
#include "runtime/error.h"

namespace rulemill::runtime {

void write_json(const std::filesystem::path& path, const Json& value) { write_file(path, value.dump(2) + "\n"); }

Json read_json(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    const std::string before = text.substr(0, error.byte == 0 ? 0 : error.byte - 1);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const auto column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
    throw InputError(path.string() + ":" + std::to_string(line) + ":" + std::to_string(column), "is not JSON here");
  }
}

}  // namespace rulemill::runtime
