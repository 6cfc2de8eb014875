// Prints the tables of a discovery run, and collects the same numbers for --json.
#pragma once

#include <memory>

#include "cli/command.h"
#include "pipeline/discovery.h"

namespace rulemill::cli {

/// Returns which limits cut how many proofs, and what to do; empty if none were cut.
std::string cut_proofs_text(const std::map<std::string, std::uint64_t>& cut_proofs);

class RunReport final : public pipeline::Observer {
 public:
  /// The context must outlive the report. `strict`: ended() throws Error if limits cut proofs.
  explicit RunReport(Context& context, bool strict = false) : context_(context), strict_(strict) {}

  void begin(const pipeline::RunDescription& run) override;
  void inputs_changed(const std::string& changes) override;
  void stage_ended(const pipeline::StageTime& stage) override;
  void fingerprinted(const fingerprint::Summary& summary) override;
  void joined(const dedup::Summary& summary) override;
  void proved(const prove::ProveSummary& summary) override;
  void cross_checked(const prove::CrossCheckReport& report, const std::vector<prove::RankStatistics>& ranks) override;
  void pruned(const prove::PruneSummary& summary) override;
  void generalized(const prove::GeneralizeSummary& summary) override;
  void ended(const pipeline::RunSummary& summary) override;
  pipeline::Observer& begin_profile(const std::filesystem::path& profile) override;
  void profile_ended(const std::filesystem::path& profile, const pipeline::FunnelRows::value_type& candidates) override;

 private:
  Context& context_;
  bool strict_;
  std::unique_ptr<Context> profile_context_;  // silent: only its report is used
  std::unique_ptr<RunReport> profile_report_;
};

}  // namespace rulemill::cli
