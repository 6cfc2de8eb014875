#include "execute/program/evaluation_context.h"

#include "execute/values/field.h"
#include "runtime/text/hash.h"

namespace rulemill::execute {
namespace {

constexpr std::uint64_t function_stream = 0x66756e6374696f6eu;

}  // namespace

EvaluationContext::EvaluationContext(algebra::Domain values, std::span<const algebra::Function> library,
                                     std::uint64_t random_seed)
    : domain(values), seed(random_seed), keys(function_keys(library, random_seed)), functions(library) {}

std::vector<FunctionKey> function_keys(std::span<const algebra::Function> functions, std::uint64_t seed) {
  std::vector<FunctionKey> keys;
  for (const algebra::Function& function : functions) {
    const std::uint64_t name_hash = runtime::hash64(std::as_bytes(std::span(function.name)));
    keys.push_back({random_word(seed ^ function_stream, name_hash), function.maps_zero_to_zero, function.idempotent,
                    function.commutative, function.arity});
  }
  return keys;
}

}  // namespace rulemill::execute
