// Files of an output folder: shards, their dictionary, the manifest, the journal, results of candidates.
#include <cstring>
#include <fstream>

#include "fingerprint/shards.h"
#include "prove/tasks/candidate_result.h"
#include "runtime/files/journal.h"
#include "runtime/files/manifest.h"
#include "runtime/files/scratch_folder.h"
#include "runtime/text/hash.h"
#include "tests/fuzz/parser.h"

namespace rulemill::fuzz {
namespace {

using runtime::ByteView;
using runtime::text_of;

/// Writes the bytes to a file in a scratch folder of this process.
std::filesystem::path as_file(ByteView bytes, const std::string& name) {
  static const runtime::ScratchFolder folder;
  const std::filesystem::path path = folder / name;
  std::ofstream(path, std::ios::binary) << text_of(bytes);
  return path;
}

void read_shard(ByteView bytes) {
  const auto path = as_file(bytes, "terms-00000.h5");
  const std::string digest = runtime::TableReader(path).text("inputs");
  fingerprint::read_shard(path, digest);
  fingerprint::read_shard(path, digest, fingerprint::ShardColumns::Fingerprints);
  runtime::TableReader(path).verify();
}

void read_dictionary(ByteView bytes) {
  const auto dictionary = fingerprint::Dictionary::parse(std::string(text_of(bytes)), "fuzzed.json");
  fingerprint::Dictionary::parse(dictionary.to_json(), "reread");
}

void read_manifest(ByteView bytes) {
  runtime::Manifest manifest(as_file(bytes, "manifest.json").parent_path());
  for (const auto& entry : manifest.entries()) {
    manifest.statistics(entry.stage);
    manifest.is_finished(entry.stage, manifest.inputs_digest(entry.stage));
  }
  for (const auto& entry : manifest.entries()) manifest.check_files(entry.stage);
}

void read_journal(ByteView bytes) {
  runtime::Journal journal(as_file(bytes, "journal"), "fuzzed");
  journal.append("again", text_of(bytes).substr(0, 10));
}

/// Recomputes the checksums of a journal's frames.
std::string seal_journal(const std::string& bytes) {
  std::string text = bytes;
  std::size_t at = text.find('\n');
  if (at == std::string::npos) return text;
  constexpr std::size_t frame = 20;
  for (++at; text.size() - at >= frame;) {
    std::uint32_t key = 0;
    std::uint64_t payload = 0;
    std::memcpy(&key, text.data() + at, sizeof key);
    std::memcpy(&payload, text.data() + at + 4, sizeof payload);
    if (key > text.size() - at - frame || payload > text.size() - at - frame - key) break;
    runtime::Hasher hasher;
    hasher.add_text(std::string_view(text).substr(at + frame, key));
    hasher.add_text(std::string_view(text).substr(at + frame + key, payload));
    const std::uint64_t digest = hasher.digest64();
    std::memcpy(text.data() + at + 12, &digest, sizeof digest);
    at += frame + key + payload;
  }
  return text;
}

void read_results(ByteView bytes) { prove::to_text(prove::results_from_text(std::string(text_of(bytes)))); }

const std::vector<std::string> json_words = {
    "{", "}",  "[",     "]",       "\"\"",          "null",       "true",       ":",
    ",", "-0", "1e400", "\\u0000", "\"finished\":", "\"stage\":", "\"bytes\":", "\"checksum\":"};

}  // namespace

void add_folder_parsers(std::vector<Parser>& parsers) {
  parsers.push_back({"shards", "terms-00000.h5", read_shard, "", nullptr, {}, {}});
  parsers.push_back({"dictionaries", "fuzzed.json", read_dictionary, "", nullptr, json_words, {}});
  parsers.push_back({"manifests", "manifest.json", read_manifest, "", nullptr, json_words, {}});
  parsers.push_back({"journals", "journal", read_journal, "", seal_journal, {}, {}});
  parsers.push_back({"outcomes", "outcome", read_results, "", nullptr, json_words, {}});
}

}  // namespace rulemill::fuzz
