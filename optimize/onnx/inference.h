// What the ONNX library says of one node's output types. It is asked of single nodes that no definition says, and in a
// helper process: on hostile attributes the library crashes, writes beyond its arrays or divides by zero.
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
  /// `command` starts a helper that serves (serve_node_inference); none: the library is called in this process.
  explicit NodeInference(std::vector<std::string> command);
  ~NodeInference();

  /// `question`: a model of one node, whose graph inputs are the node's with their types, and whose initializers are
  /// the integers among them. The answer: a graph whose outputs are those that have a type. Equal questions are asked
  /// once.
  struct Answer {
    onnx::GraphProto types;
    std::string failure;  // how the helper ended
  };
  const Answer& infer(const onnx::ModelProto& question);

 private:
  Answer ask(const std::string& question);

  std::vector<std::string> command_;
  std::unique_ptr<runtime::Subprocess> helper_;
  int failures_ = 0;
  std::unordered_map<std::string, Answer> answers_;
};

/// The helper's side: answers until its parent ends.
void serve_node_inference();

}  // namespace rulemill::optimize
