// Queries to onnxruntime in a helper process with limited memory and time (python/onnxruntime_helpers).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/text/json.h"

namespace rulemill::optimize {

/// A helper process, which sends its name and then answers one query.
struct OnnxruntimeHelper {
  std::vector<std::string> command;  // empty: not available
  double timeout = 300;              // seconds, for the query
  std::uint64_t model_bytes = 0;     // of the models that it loads
};

struct OnnxruntimeReply {
  std::string name;     // "onnxruntime 1.31.0"
  std::string failure;  // how the process ended if it did not answer
  runtime::Json json;
};

/// Returns nullopt if the helper cannot be started or sends malformed messages; `why` then has the reason.
std::optional<OnnxruntimeReply> query_onnxruntime(const OnnxruntimeHelper& helper, const runtime::Json& query,
                                                  std::string& why);

/// Returns the size of a model's file and its external data.
std::uint64_t model_bytes_on_disk(const std::filesystem::path& model);

}  // namespace rulemill::optimize
