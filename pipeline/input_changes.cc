#include "pipeline/input_changes.h"

#include <algorithm>
#include <vector>

#include "dedup/candidates/generalization_cache.h"
#include "dedup/join/join.h"
#include "dedup/join/merge_profiles.h"
#include "fingerprint/level_runner.h"
#include "fingerprint/previous_table.h"
#include "prove/cache/answer_cache.h"
#include "prove/generalize_rules.h"
#include "runtime/files/manifest.h"
#include "runtime/text/error.h"

namespace rulemill::pipeline {
namespace {

/// True if the results for the new value include those for the old one, except for what was removed on purpose.
bool extends_or_removes(const enumerate::InputChange& change) {
  for (const char* prefix : {"operator ", "constant ", "definition of ", "order of "}) {
    if (change.component.starts_with(prefix)) return true;
  }
  if (change.component.starts_with("variable ") || change.component.starts_with("profile "))
    return change.before.empty();
  return change.component == "max_ops" && std::stoul(change.after) > std::stoul(change.before);
}

/// Returns the shards, journals and checkpoints.
std::vector<std::filesystem::path> stage_files(const std::filesystem::path& out) {
  std::vector<std::filesystem::path> files = {out / "shards"};
  for (const auto& entry : std::filesystem::directory_iterator(out)) {
    const auto extension = entry.path().extension();
    if (extension == ".journal" || extension == ".pieces") files.push_back(entry.path());
  }
  return files;
}

/// The rules of the last run stay until they are replaced.
void remove_stage_files(const std::filesystem::path& out) {
  for (const auto& path : stage_files(out)) std::filesystem::remove_all(path);
}

/// Returns whether a stage was finished.
bool has_results(const runtime::Manifest& manifest) {
  constexpr const char* stages[] = {
      fingerprint::fingerprint_stage, dedup::join_stage, dedup::merge_stage, prove::prove_stage, prove::prune_stage,
      prove::generalize_stage};
  return std::ranges::any_of(stages, [&](const char* stage) { return !manifest.statistics(stage).empty(); });
}

/// Returns whether the folder has anything that a run computed: a run may have been refused before its first task.
bool has_work(const runtime::Manifest& manifest) {
  return has_results(manifest) || std::ranges::any_of(stage_files(manifest.folder()), [](const auto& path) {
           return std::filesystem::exists(path) && !std::filesystem::is_empty(path);
         });
}

}  // namespace

std::string apply_inputs(const std::filesystem::path& out, const enumerate::InputComponents& inputs,
                         OnChange on_change) {
  runtime::Manifest manifest(out);
  manifest.repair();
  std::string words;
  if (on_change == OnChange::Discard) {
    remove_stage_files(out);
    std::filesystem::remove_all(out / fingerprint::previous_folder);
    for (const char* cache : {prove::answers_file, dedup::generalization_cache_file})
      std::filesystem::remove(out / cache);
    manifest.reset();
  } else if (!manifest.inputs().empty() && manifest.inputs() != inputs) {
    const std::vector<enumerate::InputChange> changes = enumerate::find_changes(manifest.inputs(), inputs);
    words = enumerate::describe_changes(changes);
    if (on_change == OnChange::Refuse || (has_work(manifest) && !std::ranges::all_of(changes, extends_or_removes))) {
      throw runtime::InputError(out.string(), "was made from other inputs: " + words + "; choose another --out, or " +
                                                  "`rulemill discover --fresh`, which starts over");
    }
    if (!has_results(manifest)) words.clear();  // nothing can be reused
    fingerprint::archive_table(out);
    remove_stage_files(out);
    manifest.reset();
  }
  if (manifest.inputs() != inputs) manifest.set_inputs(inputs);
  return words;
}

}  // namespace rulemill::pipeline
