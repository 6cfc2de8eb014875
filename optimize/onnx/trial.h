// One mapping on one node: which instance of the operator, at which sizes, the node says, if any. What the node does
// not say of parameters and sizes is tried: words of finite domains, integers of the node.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "optimize/onnx/reading.h"
#include "optimize/onnx/solve.h"

namespace rulemill::optimize {

/// Arguments in the operator's order.
struct Attempt {
  const algebra::OnnxForm* form = nullptr;
  OnnxNodeFacts facts;
  std::vector<Recipe::Reference> arguments;
  std::vector<algebra::Shape> shapes;
  std::vector<Element> elements;
  std::vector<std::uint32_t> ranks;
};

class Trial {
 public:
  /// `facts`: of the whole node, of which an attempt may look at a part.
  Trial(const OnnxNodeFacts& facts, GraphBank& bank) : facts_(facts), bank_(bank) {}

  struct Found {
    const algebra::Instance* instance = nullptr;
    std::vector<algebra::Poly> sizes;
    std::vector<algebra::Shape> outputs;
  };
  std::optional<Found> find(const Attempt& attempt, const algebra::Parameters& given, const OnnxReading& reading);

  /// Why what was tried does not fit, in order.
  const std::vector<std::string>& refusals() const { return refusals_; }

 private:
  std::vector<algebra::ParameterValue> choices_of(const algebra::OnnxForm& form,
                                                  const algebra::OnnxForm::Parameter& parameter,
                                                  const OnnxReading& reading,
                                                  std::span<const std::uint32_t> ranks) const;
  std::optional<Found> try_instance(const Attempt& attempt, const algebra::Parameters& parameters,
                                    const OnnxReading& reading);
  void normalize(const algebra::OnnxMapping& mapping, std::span<const algebra::Poly> slots, OnnxNodeFacts& facts);
  std::optional<Found> try_sizes(const Attempt& attempt, const algebra::Instance& instance,
                                 const algebra::OnnxMapping& mapping, const OnnxReading& reading);
  std::vector<algebra::Poly> sizes_of(const algebra::Instance& instance, const algebra::OnnxMapping& mapping,
                                      std::uint32_t slot, std::vector<algebra::Poly> slots, const OnnxReading& reading,
                                      const OnnxNodeFacts& facts);
  std::optional<std::vector<algebra::Shape>> typed(const Attempt& attempt, const algebra::Instance& instance,
                                                   const algebra::OnnxMapping& mapping,
                                                   const std::vector<algebra::Poly>& sizes);

  const OnnxNodeFacts& facts_;
  GraphBank& bank_;
  std::vector<std::string> refusals_;
};

}  // namespace rulemill::optimize
