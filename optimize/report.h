// What an optimization did: a before/after table by operator, the rules that fired, how it was verified; for a
// terminal, as JSON, and as a page with pictures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "optimize/drawing.h"
#include "optimize/explain.h"
#include "optimize/table.h"
#include "optimize/timing.h"
#include "optimize/verify.h"
#include "runtime/json_report.h"

namespace rulemill::optimize {

struct Summary {
  std::string model, output, rules, device, device_description;
  std::string cost_source;  // of measured times; empty where costs are analytic
  int opset = 0;
  bool changed = false;  // otherwise the output is the input's model

  struct Row {
    std::string name;
    CostRow before, after;
  };
  std::vector<Row> rows;                         // by ONNX operator
  CostRow before, after;                         // totals of the rows
  double seconds_before = 0, seconds_after = 0;  // by the cost model
  double seconds_found = 0;                      // of the cheapest graph found, whether or not it was taken
  double min_gain = 0;
  std::uint64_t bytes_before = 0, bytes_after = 0;  // of all initializers

  struct Size {
    std::string name;
    std::int64_t value = 0;
    bool assumed = false;
  };
  std::vector<Size> sizes;  // of dimensions that the model leaves open, as costs take them

  struct Fired {
    std::string id, text;
    std::string tier;        // core, shortcut, or none
    bool certified = false;  // the database holds a certificate
    std::string proof;       // by definitions, by derivation; empty without a certificate
    std::string certificate;
    double saved = 0;  // seconds, by the cost model
    std::uint32_t times = 0, reversed = 0;
  };
  std::vector<Explanation> explanations;  // where they were asked for, and then nothing else
  std::vector<Fired> fired;               // in order of first use

  struct Unknown {
    std::string op_type, reason;
    std::uint32_t count = 0;
  };
  std::vector<Unknown> unknown;                  // left as they were
  std::uint32_t bodies = 0, bodies_changed = 0;  // graphs inside nodes

  bool saturated = false;  // equality saturation, not backtracking
  std::uint64_t windows = 0, e_nodes = 0;
  std::uint64_t extracted = 0, exactly = 0;  // graphs taken out of e-graphs, and how many by integer programming
  double alpha = 0;
  std::uint64_t budget = 0, graphs_made = 0, graphs_extended = 0, rules_loaded = 0, patterns = 0;
  bool exhausted = false;
  std::uint32_t verify_seeds = 0;
  Acceptance acceptance;
  std::vector<Judgement> judgements;                         // of what was written, or of what was refused
  std::string without_judge;                                 // why onnxruntime did not judge
  Timing timing;                                             // of the cheapest models found
  std::string warning;                                       // why a cheaper model was not taken
  double import_time = 0, search_time = 0, verify_time = 0;  // seconds on the clock
  double operations_before = 0, operations_after = 0;        // arithmetic, as far as definitions say what nodes compute
  std::uint64_t peak_bytes = 0;                              // memory of this process
  Drawing picture_before, picture_after;
};

/// For a terminal.
std::string to_text(const Summary& summary);
runtime::Json to_json(const Summary& summary);
/// A self-contained page.
std::string to_html(const Summary& summary);

}  // namespace rulemill::optimize
