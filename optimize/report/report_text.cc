#include "optimize/report/report_text.h"
#include "runtime/text/join_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "runtime/text/quantity.h"

namespace rulemill::optimize {

std::vector<std::string> cells(const CostRow& row) {
  if (row.count == 0) return {"-", "-", "-"};
  return {fmt::format("{}", row.count), row.seconds > 0 ? runtime::format_seconds(row.seconds) : "fused",
          row.weight_bytes > 0 ? runtime::format_bytes(static_cast<std::uint64_t>(row.weight_bytes)) : "-"};
}

std::string fired_name(const Summary::FiredRule& fired) { return fired.id + (fired.reversed ? " reversed" : ""); }

std::string fired_title(const Summary::FiredRule& fired) {
  std::string title = fired_name(fired);
  if (!fired.tier.empty()) title += ", " + fired.tier;
  return title + (fired.certified ? ", proved" : ", without a certificate") +
         (fired.widens ? " where the model is defined" : "");
}

std::string cleaning_text(const Summary& summary) {
  return fmt::format("clean-up: {} -> {} nodes", summary.nodes_before_cleaning, summary.nodes_after_cleaning);
}

std::string outcome_text(const Summary& summary) {
  const char* without_result = summary.cleaned ? "; no rule is applied" : "; the model is unchanged";
  if (!summary.warning.empty() && !summary.changed)
    return std::string("no candidate passed verification") + without_result;
  const double speedup = summary.seconds_before / std::max(summary.seconds_found, 1e-30);
  if (!summary.fired.empty())
    return fmt::format("cost by the model: {} -> {}, {:.2f} times as fast",
                       runtime::format_seconds(summary.seconds_before), runtime::format_seconds(summary.seconds_after),
                       summary.seconds_before / std::max(summary.seconds_after, 1e-30));
  const bool nothing_timed = summary.benchmark.candidates.empty();
  std::string reason = "no rule reduces the cost";
  if (!summary.changed && !nothing_timed) {
    reason = "no candidate is significantly faster";
  } else if (summary.seconds_found < summary.seconds_before * (1 - 1e-6) && nothing_timed) {
    reason =
        fmt::format("the cheapest graph found is {:.3f} times as fast by the model, less than --min-gain {} requires",
                    speedup, summary.min_gain);
  } else if (!summary.exhausted) {
    reason = "nothing cheaper was found within the limits of the search";
  }
  if (!summary.changed) return reason + without_result;
  return reason + "; only redundant nodes were removed";
}

namespace {

std::string candidate_text(const CandidateTimes& times) {
  if (!times.failure.empty()) return ": " + times.failure;
  if (times.milliseconds == 0) return ": " + times.reason;
  std::string text = fmt::format(" {:.4g} ms -> {:.4g} ms, {:.3f} times as fast", times.model_milliseconds,
                                 times.milliseconds, times.speedup);
  if (times.rounds > 0)
    text += fmt::format(" (quartiles {:.3f} and {:.3f}, {} rounds)", times.lower, times.upper, times.rounds);
  return text + ": " + (times.faster ? "faster" : times.reason);
}

}  // namespace

std::string timing_place(const BenchmarkResult& benchmark) {
  const bool has_several = benchmark.shapes.find(';') != std::string::npos;
  return benchmark.runner + (benchmark.shapes.empty() ? "" : ", " + benchmark.shapes) +
         (has_several ? " (geometric means)" : "");
}

std::string benchmark_text(const Summary& summary) {
  const BenchmarkResult& benchmark = summary.benchmark;
  if (!benchmark.skipped_reason.empty()) return "not timed: " + benchmark.skipped_reason + "\n";
  if (benchmark.candidates.empty()) return "";
  std::string text = "timed by " + timing_place(benchmark) + "\n";
  for (const CandidateTimes& each : benchmark.candidates) text += "  candidate" + candidate_text(each) + "\n";
  return text;
}

std::string sizes_text(const Summary& summary) {
  const bool assumed = std::ranges::any_of(summary.sizes, &Summary::Size::assumed);
  const auto value_of = [](const Summary::Size& size) { return fmt::format("{} = {}", size.name, size.value); };
  return runtime::join_text(summary.sizes, value_of) +
         (assumed ? " (assumed; set with --input-shape or --inputs)" : "");
}

/// Growth of the range of float32 values that the report mentions.
constexpr double noteworthy_range_growth = 1000;

/// Returns "; cut at 2 TopK and 1 ArgMax, ..." if the models were cut.
std::string choices_text(const std::vector<std::string>& choices) {
  std::map<std::string, std::size_t> counts;
  for (const std::string& op : choices) ++counts[op];
  std::string text;
  for (const auto& [op, count] : counts) text += fmt::format("{}{} {}", text.empty() ? "; cut at " : ", ", count, op);
  return text.empty() ? text
                      : text + ", whose choices rounding decides: what leads to them and what follows is compared";
}

std::string verification_text(const VerificationResult& result, const Summary& summary) {
  using Verdict = VerificationResult::Verdict;
  if (result.verdict == Verdict::Different) return result.verifier + ": different: " + result.reason;
  if (result.verdict == Verdict::NotLoaded) return result.verifier + ": not loaded: " + result.reason;
  if (result.verdict == Verdict::NotVerified) return result.verifier + ": not verified: " + result.reason;
  if (result.inputs + result.given_inputs == 0 && result.tensors == 0)
    return fmt::format("{}: equal for all inputs{}, as functions of real numbers, {}", result.verifier,
                       summary.widens() ? " for which the model is defined" : "",
                       runtime::format_seconds(result.seconds));
  const std::string given = result.given_inputs > 0 ? fmt::format("{} given and ", result.given_inputs) : "";
  const AccuracyPolicy& policy = summary.verification_options.accuracy;
  const std::string equal = fmt::format(
      "{}: equal on {}{} random inputs{}, largest difference {:.1e} of the largest value", result.verifier, given,
      result.inputs, summary.widens() ? " where the model is not NaN" : "", result.max_relative_difference);
  const std::string time = runtime::format_seconds(result.seconds) + choices_text(result.choices);
  if (result.reference.empty())
    return fmt::format("{}, {:.0e} allowed, because there is no usable float64 reference ({}), {}", equal,
                       policy.tolerance, result.no_reference_reason, time);
  const std::string range = result.range_growth < noteworthy_range_growth
                                ? ""
                                : fmt::format("intermediate values {:.0e} times as large, ", result.range_growth);
  return fmt::format(
      "{}; error against float64 ({}): the model {:.1e}, the result {:.1e}, {:g} times as much allowed, {}{}", equal,
      result.reference, result.errors.before, result.errors.after, policy.max_error_ratio, range, time);
}

std::string bit_comparison_text(const VerificationResult& result) {
  if (!result.is_equal()) return result.verifier + ": outputs not compared: " + result.reason;
  const std::string given = result.given_inputs > 0 ? fmt::format("{} given and ", result.given_inputs) : "";
  return fmt::format("{}: the same bits on {}{} random inputs, {}", result.verifier, given, result.inputs,
                     runtime::format_seconds(result.seconds));
}

/// Returns which limits were reached how often, or "saturated".
std::string limits_text(const Summary& summary) {
  if (summary.exhausted) return "saturated";
  const LimitCounts& counts = summary.limits_reached;
  std::string text;
  for (const auto& [count, name] :
       {std::pair{counts.nodes, "nodes"}, {counts.iterations, "iterations"}, {counts.matches, "matches"}}) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  }
  return text.empty() ? "limits reached" : "limits reached: " + text;
}

std::string search_text(const Summary& summary) {
  if (summary.saturated)
    return fmt::format("search: equality saturation of {} windows, {} e-graph nodes, {}, {}", summary.windows,
                       summary.egraph_nodes, limits_text(summary), runtime::format_seconds(summary.search_seconds));
  return fmt::format("search: {} graphs created, {} extended, {}, alpha {}, {}", summary.graphs_created,
                     summary.graphs_extended, summary.exhausted ? "exhausted" : "limits reached", summary.alpha,
                     runtime::format_seconds(summary.search_seconds));
}

}  // namespace rulemill::optimize
