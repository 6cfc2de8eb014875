// Hands the rows that an enumerator shows to a device, which makes their names, and says what came back: of each row
// the least fingerprint. What OrbitEvaluator and orbit_print() do on the CPU. While one batch is evaluated, the next is
// gathered.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "enumerate/enumerator.h"
#include "execute/device.h"
#include "fingerprint/orbit_print.h"

namespace rulemill::fingerprint {

/// The terms that a device holds under all their names.
execute::NamedTerms named_terms(const enumerate::Enumerator& enumerator, bool all_terms);

class DeviceOrbits final : public enumerate::NodeSink {
 public:
  /// A row of one output of a node, and how many nodes the row stands for.
  using Receiver =
      std::function<void(std::uint64_t row, enumerate::SignatureId signature,
                         std::span<const enumerate::TermId> arguments, std::uint32_t images, const OrbitPrint& print)>;

  DeviceOrbits(const enumerate::Enumerator& enumerator, std::span<const execute::TypedProgram* const> programs,
               execute::Device& device, Receiver receiver);

  /// Throws DeviceError.
  void node(enumerate::SignatureId signature, std::span<const enumerate::TermId> arguments, std::uint64_t row) override;
  /// Evaluates what still waits. Call it after the last walk.
  void finish();

  std::uint64_t products() const { return products_; }  // multiply-adds

 private:
  struct Row {
    std::uint64_t row = 0;
    enumerate::SignatureId signature = 0;
    std::array<enumerate::TermId, enumerate::max_arity> arguments{};
  };
  std::uint32_t renamings(enumerate::VariableSet set);
  std::uint32_t list(enumerate::VariableSet set);
  std::uint32_t numbers(enumerate::VariableSet set, enumerate::VariableSet part);
  bool is_passing(enumerate::TermId t) const { return t >= enumerator_.named_terms(); }
  bool is_commutative(enumerate::SignatureId signature) const;
  execute::OrbitBatch::More needs(enumerate::VariableSet set, std::span<const enumerate::TermId> arguments);
  std::uint32_t passing(enumerate::TermId t);
  void flush();
  void receive(std::size_t slot);

  const enumerate::Enumerator& enumerator_;
  std::span<const execute::TypedProgram* const> programs_;
  Receiver receiver_;
  std::unique_ptr<execute::DeviceLane> lane_;
  std::array<std::vector<Row>, 2> rows_;  // by slot
  std::unordered_map<enumerate::VariableSet, const enumerate::RenamingList*> renamings_;
  // Of the batch that is gathered: where things are in it.
  std::unordered_map<enumerate::VariableSet, std::uint32_t> lists_;
  std::map<std::pair<enumerate::VariableSet, enumerate::VariableSet>, std::uint32_t> numbers_;
  std::unordered_map<enumerate::TermId, std::uint32_t> passing_;
  std::uint64_t products_ = 0;
};

}  // namespace rulemill::fingerprint
