#include "optimize/report_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace rulemill::optimize {

std::string time_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.2f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.1f} us", seconds * 1e6);
}

std::string bytes_text(double bytes) {
  if (bytes >= 1 << 20) return fmt::format("{:.1f} MiB", bytes / (1 << 20));
  if (bytes >= 1 << 10) return fmt::format("{:.1f} KiB", bytes / (1 << 10));
  return fmt::format("{:.0f} B", bytes);
}

/// Cells that read "nothing" as such.
std::vector<std::string> cells(const CostRow& row) {
  if (row.count == 0) return {"-", "-", "-"};
  return {fmt::format("{}", row.count), row.seconds > 0 ? time_text(row.seconds) : "fused",
          row.weight_bytes > 0 ? bytes_text(row.weight_bytes) : "-"};
}

std::string fired_title(const Summary::Fired& fired) {
  std::string title = fired.id;
  if (!fired.tier.empty()) title += ", " + fired.tier;
  title += fired.certified ? ", proved" : ", without a certificate";
  if (fired.reversed == fired.times) return title + ", from right to left";
  return fired.reversed > 0 ? title + fmt::format(", {} times from right to left", fired.reversed) : title;
}

/// What came of it, in a sentence.
std::string verdict_text(const Summary& summary) {
  if (!summary.warning.empty() && !summary.changed) return "no result passed: the model is left as it is";
  double found = summary.seconds_before / std::max(summary.seconds_found, 1e-30);
  if (!summary.fired.empty()) {
    return fmt::format("cost by the model: {} -> {}, {:.2f} times as fast", time_text(summary.seconds_before),
                       time_text(summary.seconds_after), found);
  }
  const bool nothing_timed = summary.timing.candidates.empty();
  std::string reason = "no rule makes it cheaper";
  if (!summary.changed && !nothing_timed) {
    reason = fmt::format("timed, nothing is faster by more than the noise of {:.1f}%", summary.timing.noise * 100);
  } else if (summary.seconds_found < summary.seconds_before * (1 - 1e-6) && nothing_timed) {
    reason = fmt::format(
        "the cheapest graph found is {:.3f} times as fast by the model, which is less than --min-gain {} asks for",
        found, summary.min_gain);
  } else if (!summary.exhausted) {
    reason = "nothing cheaper was found before the search came to its limits";
  }
  if (!summary.changed) return reason + ": the model is left as it is";
  return reason + ": only nodes that are not needed were removed";
}

/// How each candidate fared against the model; nothing if none was found.
std::string timing_text(const Summary& summary) {
  const Timing& timing = summary.timing;
  if (!timing.absent.empty()) return "not timed: " + timing.absent + "\n";
  if (timing.candidates.empty()) return "";
  std::string text = fmt::format("timed by {}, {} rounds in turns{}: the model {:.4g} ms\n", timing.by, timing.rounds,
                                 timing.shapes.empty() ? "" : ", " + timing.shapes, timing.milliseconds);
  for (const Timed& each : timing.candidates) {
    if (!each.failure.empty()) {
      text += "  a result: " + each.failure + "\n";
      continue;
    }
    text += fmt::format(
        "  a result {:.4g} ms, {:.3f} times as fast (quartiles {:.3f} and {:.3f}): {}\n", each.milliseconds, each.ratio,
        each.lower, each.upper,
        each.faster ? "faster" : fmt::format("not faster by more than the noise of {:.1f}%", timing.noise * 100));
  }
  return text;
}

std::string sizes_text(const Summary& summary) {
  std::string text;
  bool assumed = false;
  for (const auto& size : summary.sizes) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", size.name, size.value);
    assumed = assumed || size.assumed;
  }
  if (assumed) text += " (assumed; --input-shape says otherwise)";
  return text;
}

std::string judgement_text(const Judgement& judgement, const Acceptance& acceptance) {
  using Verdict = Judgement::Verdict;
  if (judgement.verdict == Verdict::Different) return judgement.judge + ": different: " + judgement.reason;
  if (judgement.verdict == Verdict::NotVerified) return judgement.judge + ": not verified: " + judgement.reason;
  const std::string equal = fmt::format("{}: equal on {} random inputs, largest difference {:.1e} of the largest value",
                                        judgement.judge, judgement.inputs, judgement.worst);
  const std::string time = time_text(judgement.seconds);
  if (judgement.exact.empty()) {
    return fmt::format("{}, {:.0e} allowed, since no float64 run was there to judge ({}), {}", equal,
                       acceptance.tolerance, judgement.not_exact, time);
  }
  return fmt::format(
      "{}; error against float64 ({}): the model {:.1e}, the result {:.1e}, {:g} times as much allowed, {}", equal,
      judgement.exact, judgement.errors.before, judgement.errors.after, acceptance.own_error, time);
}

std::string search_text(const Summary& summary) {
  if (summary.saturated) {
    return fmt::format("search: equality saturation of {} windows, {} e-graph nodes, {}, {}", summary.windows,
                       summary.e_nodes, summary.exhausted ? "all there are" : "limits reached",
                       time_text(summary.search_time));
  }
  return fmt::format("search: {} graphs made, {} extended, {}, alpha {}, {}", summary.graphs_made,
                     summary.graphs_extended, summary.exhausted ? "all there are" : "budget exhausted", summary.alpha,
                     time_text(summary.search_time));
}

}  // namespace rulemill::optimize
