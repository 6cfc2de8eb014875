// Evaluates all renamings of the nodes that an enumerator visits and reports their fingerprints. Terms that are not
// expanded are transient: their values are computed for one batch of rows and then discarded.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "enumerate/levels/enumerator.h"
#include "execute/cpu/batch_evaluator.h"
#include "execute/program/program.h"

namespace rulemill::fingerprint {

/// An argument of an image: an expanded term, or a transient term's values by their offset in the arena. Equal terms
/// are equal arguments.
class ImageArgument {
 public:
  static ImageArgument term(enumerate::TermId t) { return ImageArgument(t); }
  static ImageArgument arena(std::uint64_t arena_offset) { return ImageArgument(arena_offset | arena_bit); }
  ImageArgument() = default;
  bool in_arena() const { return (bits_ & arena_bit) != 0; }
  enumerate::TermId term() const { return static_cast<enumerate::TermId>(bits_); }
  std::uint64_t arena_offset() const { return bits_ & ~arena_bit; }
  auto operator<=>(const ImageArgument&) const = default;

 private:
  static constexpr std::uint64_t arena_bit = std::uint64_t{1} << 63;
  explicit ImageArgument(std::uint64_t bits) : bits_(bits) {}
  std::uint64_t bits_ = 0;
};
using ImageArguments = std::array<ImageArgument, enumerate::max_arity>;

/// A row's node and its images, the nodes that result from renaming its variables. Image 0 is the node itself.
struct Orbit {
  std::uint64_t row = 0;
  enumerate::SignatureId signature = 0;
  std::span<const enumerate::TermId> arguments;
  std::span<const std::uint32_t> renaming;             // by image: the first renaming that results in it
  std::span<const std::uint32_t> image_of;             // by renaming of the node's variables: its image
  std::span<const ImageArguments> image_arguments;     // by image
  std::span<const execute::Fingerprint> fingerprints;  // by image, then output
  std::uint32_t outputs = 1;
};

class OrbitEvaluator final : public enumerate::NodeSink {
 public:
  using Receiver = std::function<void(const Orbit&)>;

  /// With `all_terms`, terms of equal value are distinct.
  OrbitEvaluator(const enumerate::Enumerator& enumerator, std::span<const execute::TypedProgram* const> programs,
                 bool all_terms, execute::BatchEvaluator& evaluator, Receiver receiver);

  void add_node(enumerate::SignatureId signature, std::span<const enumerate::TermId> arguments,
                std::uint64_t row) override;
  /// Evaluates the pending rows. Call it after the last walk.
  void finish();

  std::uint64_t products() const { return products_; }  // multiply-adds

 private:
  struct Row {
    std::uint64_t row = 0;
    enumerate::SignatureId signature = 0;
    std::array<enumerate::TermId, enumerate::max_arity> arguments{};
    std::size_t first_image = 0, first_image_of = 0, first_fingerprint = 0;
  };
  /// A term that is not expanded, with all its renamings.
  struct TransientTerm {
    enumerate::VariableSet variables = 0;
    std::size_t first = 0;                   // batch node of renaming 0
    std::uint64_t arena_offset = 0;          // of renaming 0
    std::uint32_t elements = 0;              // as they are stored
    std::vector<std::uint32_t> first_equal;  // by renaming: the first that gives the same term
  };
  std::uint64_t arena_offset(const TransientTerm& transient, std::uint32_t renaming) const;
  execute::TensorRef tensor(ImageArgument argument) const;
  /// Returns a node for the batch and allocates its fingerprints.
  execute::BatchNode make_batch_node(enumerate::SignatureId signature, const ImageArguments& arguments);
  void add_transient(enumerate::TermId t);
  void evaluate_transients();
  void find_equal_renamings(TransientTerm& transient) const;
  void add_images(Row& row);
  void flush();
  void report_orbits() const;

  const enumerate::Enumerator& enumerator_;
  std::span<const execute::TypedProgram* const> programs_;  // by signature
  bool all_terms_;
  execute::BatchEvaluator& evaluator_;
  execute::BatchEvaluator::BatchSize batch_size_;
  Receiver receiver_;
  std::vector<Row> rows_;
  std::uint64_t expected_images_ = 0;
  std::unordered_map<enumerate::TermId, TransientTerm> transients_;
  std::vector<enumerate::TermId> transient_order_;
  std::uint64_t arena_pairs_ = 0;
  std::vector<execute::BatchNode> batch_nodes_;
  std::vector<execute::Fingerprint> fingerprints_;
  std::vector<std::uint32_t> renaming_, image_of_;
  std::vector<ImageArguments> image_arguments_;
  std::uint64_t products_ = 0;
};

/// The minimum over all renamings of a term, so that terms that are equal up to renaming have equal fingerprints.
struct OrbitFingerprint {
  execute::Fingerprint minimum;
  std::uint32_t renaming = 0;         // the first renaming of the term's variables with the minimum
  std::uint32_t distinct_values = 1;  // number of distinct fingerprints of the renamings
  /// Bit r < 64: renaming r also has the minimum, but results in another node.
  std::uint64_t symmetries = 0;
};

OrbitFingerprint orbit_fingerprint(const Orbit& orbit, std::uint32_t output);

}  // namespace rulemill::fingerprint
