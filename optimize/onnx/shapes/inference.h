// Output types of single nodes by the ONNX library, for nodes that no definition covers. The library runs in a helper
// process, because it crashes, writes out of bounds or divides by zero on hostile attributes.
#pragma once

#include <onnx/onnx_pb.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace rulemill::runtime {
class Subprocess;
}

namespace rulemill::optimize {

class NodeInference {
 public:
  /// `command` starts a helper that calls serve_node_inference(); if empty, the library is called in this process.
  explicit NodeInference(std::vector<std::string> command);
  ~NodeInference();

  struct InferredTypes {
    onnx::GraphProto types;  // its outputs are those of the node that have a type; its text: why the node is invalid
    std::string failure;     // how the helper ended, if it did
  };
  /// Infers output types. `query`: a model of one node; its graph inputs are the node's inputs with types, its
  /// initializers are those among them whose values are known. Results are cached.
  const InferredTypes& infer(const onnx::ModelProto& query);

 private:
  InferredTypes query_helper(const std::string& query);

  std::vector<std::string> command_;
  std::unique_ptr<runtime::Subprocess> helper_;
  int failures_ = 0;
  std::unordered_map<std::string, InferredTypes> cache_;
};

/// Serves queries until the parent process ends; runs in the helper.
void serve_node_inference();

}  // namespace rulemill::optimize
