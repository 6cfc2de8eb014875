// General forms that one run has found and the next one reads, whose types and instances have other numbers.
#include "dedup/general_forms.h"

#include <catch2/catch.hpp>

#include "runtime/atomic_file.h"
#include "runtime/scratch_folder.h"

using namespace rulemill;
using namespace rulemill::dedup;

namespace {

using fingerprint::Dictionary;

const Dictionary::InstanceEntry relu{"relu", {}, {2}}, add{"add", {}, {2, 2}};

Dictionary dictionary(std::vector<enumerate::Dims> types, std::vector<Dictionary::InstanceEntry> instances) {
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
  algebra::Library library = algebra::Library::load(std::filesystem::path(RULEMILL_SOURCE_DIR) / "data" / "operators");
  runtime::Communicator self = runtime::Communicator::self();

  GeneralForms open(const Dictionary& words, const std::string& origin = "seed 1") {
    return GeneralForms(path(), words, library, origin, self);
  }
};

}  // namespace

TEST_CASE("a general form is known to a run that numbers types and instances otherwise, in its numbers") {
  Folder folder;
  const Dictionary before = dictionary({{2, 3}, {4, 5}}, {relu}),
                   after = dictionary({{7, 7}, {4, 5}, {2, 3}}, {add, relu});
  GeneralForms forms = folder.open(before);
  CHECK(forms.find(forms.key(graph(0, 0))) == nullptr);
  forms.note(forms.key(graph(0, 0)), pack(graph(1, 0)));
  forms.save();
  const GeneralForms next = folder.open(after);
  const std::string* found = next.find(next.key(graph(2, 1)));
  REQUIRE(found != nullptr);
  CHECK(*found == pack(graph(1, 1)));
  CHECK(next.find(next.key(graph(1, 1))) == nullptr);
  CHECK(next.find(next.key(graph(2, 0))) == nullptr);
}

TEST_CASE("a general form is not known where a type or an instance of it is gone, or what it depends on is another") {
  Folder folder;
  GeneralForms forms = folder.open(dictionary({{2, 3}, {4, 5}}, {relu}));
  const GeneralForms::Key key = forms.key(graph(0, 0));
  forms.note(key, pack(graph(1, 0)));
  forms.save();
  CHECK(folder.open(dictionary({{2, 3}, {4, 5}}, {relu})).find(key) != nullptr);
  CHECK(folder.open(dictionary({{2, 3}}, {relu})).find(key) == nullptr);
  CHECK(folder.open(dictionary({{2, 3}, {4, 5}}, {add})).find(key) == nullptr);
  CHECK(folder.open(dictionary({{2, 3}, {4, 5}}, {relu}), "seed 2").find(key) == nullptr);
}

TEST_CASE("a file of general forms with any byte changed, or cut, knows nothing") {
  Folder folder;
  const Dictionary words = dictionary({{2, 3}, {4, 5}}, {relu});
  GeneralForms forms = folder.open(words);
  const GeneralForms::Key key = forms.key(graph(0, 0));
  forms.note(key, pack(graph(1, 0)));
  forms.save();
  const std::string whole = runtime::read_file(folder / general_forms_file);
  for (std::size_t at = 0; at < whole.size(); at += 3) {
    std::string damaged = whole;
    damaged[at] ^= 4;
    runtime::write_file(folder / general_forms_file, damaged);
    CHECK(folder.open(words).find(key) == nullptr);
    runtime::write_file(folder / general_forms_file, whole.substr(0, at));
    CHECK(folder.open(words).find(key) == nullptr);
  }
}

TEST_CASE("what a candidate is with symbolic sizes is written once, and known to the next run") {
  Folder folder;
  const Dictionary before = dictionary({{2, 3}, {4, 5}}, {relu}), after = dictionary({{4, 5}, {2, 3}}, {add, relu});
  int written = 0;
  const auto text = [&](const char* what) {
    return [&written, what] {
      ++written;
      return std::string(what);
    };
  };
  GeneralForms forms = folder.open(before);
  const runtime::Hash128 hash = forms.typed(graph(0, 0), text("relu(x) => relu(x)"));
  CHECK(hash == runtime::hash128(runtime::bytes_of(std::string("relu(x) => relu(x)"))));
  CHECK(forms.typed(graph(1, 0), text("")) == runtime::Hash128{});
  CHECK(written == 2);
  forms.save();
  GeneralForms next = folder.open(after);
  CHECK(next.typed(graph(1, 1), text("another")) == hash);
  CHECK(next.typed(graph(0, 1), text("another")) == runtime::Hash128{});
  CHECK(written == 2);
  next.save();
  CHECK(folder.open(after).typed(graph(1, 1), text("another")) == hash);
  CHECK(folder.open(before, "seed 2").typed(graph(0, 0), text("another")) != hash);
  CHECK(written == 3);
}
