#include "cli/choice_option.h"

#include <algorithm>
#include <utility>

#include "cli/manual/command_table.h"
#include "runtime/text/unknown_name.h"

namespace rulemill::cli {

CLI::Validator one_of(std::string kind, std::vector<std::string> words) {
  const std::string description = describe_choices(words);
  return CLI::Validator(
      [kind = std::move(kind), words = std::move(words)](std::string& text) {
        const bool known = std::ranges::find(words, text) != words.end();
        return known ? std::string() : runtime::unknown_name(kind, text, words);
      },
      description);
}

}  // namespace rulemill::cli
