// A cache that is read by a run in which types and instances have other numbers.
#include "dedup/candidates/generalization_cache.h"

#include <array>
#include <catch2/catch.hpp>

#include "runtime/files/atomic_file.h"
#include "runtime/files/scratch_folder.h"
#include "tests/shipped_operators.h"

using namespace rulemill;
using namespace rulemill::dedup;

namespace {

using fingerprint::Dictionary;

const Dictionary::InstanceRecord relu{"relu", {}, {2}}, add{"add", {}, {2, 2}};

Dictionary make_dictionary(std::vector<enumerate::Dims> types, std::vector<Dictionary::InstanceRecord> instances) {
  Dictionary made;
  made.types = std::move(types);
  made.instances = std::move(instances);
  return made;
}

/// relu(x) => relu(x), its types and instance by number.
CandidateGraph graph(std::uint16_t type, std::uint16_t instance) {
  CandidateGraph made;
  made.leaves.push_back(type);
  GraphNode node;
  node.instance = instance;
  node.types.push_back(type);
  node.arguments.push_back({true, 0, 0});
  made.nodes.push_back(node);
  made.source.push_back({false, 0, 0});
  made.target.push_back({false, 0, 0});
  return made;
}

struct Folder : runtime::ScratchFolder {
  algebra::Library library = shipped_operators();
  runtime::Communicator self = runtime::Communicator::self();

  GeneralizationCache open(const Dictionary& dictionary, const std::string& origin = "seed 1") {
    return GeneralizationCache(path(), dictionary, library, origin, self);
  }
};

}  // namespace

TEST_CASE("a later run finds a generalized candidate, translated to its numbers of types and instances") {
  Folder folder;
  const Dictionary before = make_dictionary({{2, 3}, {4, 5}}, {relu}),
                   after = make_dictionary({{7, 7}, {4, 5}, {2, 3}}, {add, relu});
  GeneralizationCache cache = folder.open(before);
  CHECK(cache.find(cache.key(graph(0, 0))) == nullptr);
  cache.add(std::array{cache.key(graph(0, 0))}, pack(graph(1, 0)));
  cache.save();
  const GeneralizationCache next = folder.open(after);
  const std::string* found = next.find(next.key(graph(2, 1)));
  REQUIRE(found != nullptr);
  CHECK(*found == pack(graph(1, 1)));
  CHECK(next.find(next.key(graph(0, 1))) == nullptr);
  CHECK(next.find(next.key(graph(2, 0))) == nullptr);
}

TEST_CASE("a generalized candidate is found from every step, and by later runs from the first step and from itself") {
  Folder folder;
  const Dictionary dictionary = make_dictionary({{2, 3}, {4, 5}, {7, 7}}, {relu});
  GeneralizationCache cache = folder.open(dictionary);
  const std::string result = pack(graph(2, 0));
  const auto found = [&](const GeneralizationCache& in, std::uint16_t type) {
    const std::string* form = in.find(in.key(graph(type, 0)));
    return form != nullptr && *form == result;
  };
  cache.add(std::array{cache.key(graph(0, 0)), cache.key(graph(1, 0)), cache.key(graph(2, 0))}, result);
  CHECK(found(cache, 1));
  CHECK(found(cache, 2));
  CHECK(!cache.is_step(cache.key(graph(0, 0))));
  CHECK(cache.is_step(cache.key(graph(1, 0))));
  cache.save();
  const GeneralizationCache next = folder.open(dictionary);
  CHECK(found(next, 0));
  CHECK(!found(next, 1));
  CHECK(found(next, 2));
}

TEST_CASE("a generalized candidate is not found if one of its types, instances or other inputs has changed") {
  Folder folder;
  GeneralizationCache cache = folder.open(make_dictionary({{2, 3}, {4, 5}}, {relu}));
  const GeneralizationCache::Key key = cache.key(graph(0, 0));
  cache.add(std::array{key}, pack(graph(1, 0)));
  cache.save();
  CHECK(folder.open(make_dictionary({{2, 3}, {4, 5}}, {relu})).find(key) != nullptr);
  CHECK(folder.open(make_dictionary({{2, 3}}, {relu})).find(key) == nullptr);
  CHECK(folder.open(make_dictionary({{2, 3}, {4, 5}}, {add})).find(key) == nullptr);
  CHECK(folder.open(make_dictionary({{2, 3}, {4, 5}}, {relu}), "seed 2").find(key) == nullptr);
}

TEST_CASE("a corrupt or truncated cache is empty") {
  Folder folder;
  const Dictionary dictionary = make_dictionary({{2, 3}, {4, 5}}, {relu});
  GeneralizationCache cache = folder.open(dictionary);
  const GeneralizationCache::Key key = cache.key(graph(0, 0));
  cache.add(std::array{key}, pack(graph(1, 0)));
  cache.save();
  const std::string whole = runtime::read_file(folder / generalization_cache_file);
  for (std::size_t at = 0; at < whole.size(); at += 3) {
    std::string damaged = whole;
    damaged[at] ^= 4;
    runtime::write_file(folder / generalization_cache_file, damaged);
    CHECK(folder.open(dictionary).find(key) == nullptr);
    runtime::write_file(folder / generalization_cache_file, whole.substr(0, at));
    CHECK(folder.open(dictionary).find(key) == nullptr);
  }
}
