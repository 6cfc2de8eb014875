#include "dedup/candidates/vocabulary.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "runtime/text/hash.h"

namespace rulemill::dedup {
namespace {

/// Returns distinct numbers for distinct texts: their hashes. If hashes collide, the alphabetically later text gets the
/// next free number.
std::vector<std::uint32_t> codes_for(const std::vector<std::string>& texts) {
  std::map<std::string, std::uint32_t> known;
  for (const std::string& text : texts) known[text] = 0;
  std::set<std::uint32_t> taken;
  for (auto& [text, code] : known) {
    code = static_cast<std::uint32_t>(runtime::hash64(runtime::bytes_of(text)));
    while (!taken.insert(code).second) ++code;
  }
  std::vector<std::uint32_t> codes;
  for (const std::string& text : texts) codes.push_back(known.at(text));
  return codes;
}

template <class Numbers>
std::string join_with_spaces(const Numbers& numbers) {
  std::string text;
  for (const auto number : numbers) text += std::to_string(number) + " ";
  return text;
}

}  // namespace

bool is_exact_division(const algebra::Comparison& condition) {
  return condition.relation == algebra::Relation::Eq && condition.a->kind == algebra::IndexExpr::Kind::Mod;
}

Vocabulary make_vocabulary(const fingerprint::Dictionary& dictionary, algebra::Library& library) {
  Vocabulary vocabulary;
  std::vector<std::string> instances, types;
  for (const auto& entry : dictionary.instances) {
    std::string& text = instances.emplace_back(entry.name + "(");
    for (const auto& [name, value] : entry.parameters) text += name + "=" + algebra::to_string(value) + " ";
    text += ") " + join_with_spaces(entry.ranks);
    vocabulary.instances.push_back(&library.instantiate(entry.name, entry.parameters, entry.ranks));
    vocabulary.divides.push_back(std::ranges::any_of(vocabulary.instances.back()->conditions, is_exact_division));
  }
  vocabulary.types = dictionary.types;
  for (const enumerate::Dims& shape : dictionary.types) types.push_back(join_with_spaces(shape));
  vocabulary.instance_codes = codes_for(instances);
  vocabulary.type_codes = codes_for(types);
  vocabulary.library = &library;
  return vocabulary;
}

}  // namespace rulemill::dedup
