#include "algebra/exchange/readings.h"

#include <utility>

namespace rulemill::algebra {

std::string without_place(const runtime::Error& error) {
  const std::string_view message = error.what();
  return std::string(error.where().empty() ? message : message.substr(error.where().size() + 2));
}

void append_readings(const std::string& name, const std::string& place, const std::function<std::vector<Rule>()>& read,
                     std::vector<ImportedRule>& rules) {
  try {
    std::vector<Rule> readings = read();
    for (std::size_t r = 0; r < readings.size(); ++r) {
      readings[r].id = readings.size() == 1 ? name : name + "_" + std::to_string(r + 1);
      rules.push_back({readings[r].id, place, std::move(readings[r]), {}});
    }
  } catch (const runtime::InputError& error) {
    rules.push_back({name, error.where(), std::nullopt, without_place(error)});
  }
}

}  // namespace rulemill::algebra
