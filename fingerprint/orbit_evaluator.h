// Evaluates the rows that an enumerator shows: a row's node under each of its names, and says what fingerprints came
// out. Values of terms that are not named are computed for a batch of rows at a time and forgotten afterwards.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "enumerate/enumerator.h"
#include "execute/evaluator.h"
#include "execute/program.h"

namespace rulemill::fingerprint {

/// An argument of an image: a named term, or the values of one that is not, by their place in the arena. Equal terms
/// are equal arguments.
class ImageArgument {
 public:
  static ImageArgument term(enumerate::TermId t) { return ImageArgument(t); }
  static ImageArgument arena(std::uint64_t place) { return ImageArgument(place | arena_bit); }
  ImageArgument() = default;
  bool in_arena() const { return (bits_ & arena_bit) != 0; }
  enumerate::TermId term() const { return static_cast<enumerate::TermId>(bits_); }
  std::uint64_t place() const { return bits_ & ~arena_bit; }
  auto operator<=>(const ImageArgument&) const = default;

 private:
  static constexpr std::uint64_t arena_bit = std::uint64_t{1} << 63;
  explicit ImageArgument(std::uint64_t bits) : bits_(bits) {}
  std::uint64_t bits_ = 0;
};
using ImageArguments = std::array<ImageArgument, enumerate::max_arity>;

/// A row's node and its images, the nodes that renamings of its variables make of it. Image 0 is the node itself.
struct Orbit {
  std::uint64_t row = 0;
  enumerate::SignatureId signature = 0;
  std::span<const enumerate::TermId> arguments;
  std::span<const std::uint32_t> renaming;          // by image: the first renaming that makes it
  std::span<const std::uint32_t> image_of;          // by renaming of the node's variables: its image
  std::span<const ImageArguments> image_arguments;  // by image
  std::span<const execute::Fingerprint> prints;     // by image, then output
  std::uint32_t outputs = 1;
};

class OrbitEvaluator final : public enumerate::NodeSink {
 public:
  using Receiver = std::function<void(const Orbit&)>;

  /// With `all_terms`, terms of equal value are different terms.
  OrbitEvaluator(const enumerate::Enumerator& enumerator, std::span<const execute::TypedProgram* const> programs,
                 bool all_terms, execute::Evaluator& runner, Receiver receiver);

  void node(enumerate::SignatureId signature, std::span<const enumerate::TermId> arguments, std::uint64_t row) override;
  /// Evaluates what still waits. Call it after the last walk.
  void finish();

  std::uint64_t products() const { return products_; }  // multiply-adds

 private:
  struct Row {
    std::uint64_t row = 0;
    enumerate::SignatureId signature = 0;
    std::array<enumerate::TermId, enumerate::max_arity> arguments{};
    std::size_t first_image = 0, first_map = 0, first_print = 0;
  };
  /// A term that is not named, under all its names.
  struct Passing {
    enumerate::VariableSet variables = 0;
    std::size_t first = 0;               // wave node of renaming 0
    std::uint64_t place = 0;             // of renaming 0 in the arena
    std::uint32_t elements = 0;          // as they are stored
    std::vector<std::uint32_t> same_as;  // by renaming: the first that gives the same term
  };
  std::uint64_t place(const Passing& passing, std::uint32_t renaming) const;
  /// Arguments of a commutative operator are in order.
  bool is_commutative(enumerate::SignatureId signature) const;
  execute::TensorRef tensor(ImageArgument argument) const;
  /// A node of the wave, which has room for its fingerprints.
  execute::WaveNode wave_node(enumerate::SignatureId signature, const ImageArguments& arguments);
  void add_passing(enumerate::TermId t);
  void compute_passing();
  void find_equal_renamings(Passing& passing) const;
  void add_images(Row& row);
  void flush();
  void show_orbits() const;

  const enumerate::Enumerator& enumerator_;
  std::span<const execute::TypedProgram* const> programs_;  // by signature
  bool all_terms_;
  execute::Evaluator& runner_;
  execute::Evaluator::Batch batch_;
  Receiver receiver_;
  std::vector<Row> rows_;
  std::uint64_t expected_images_ = 0;
  std::unordered_map<enumerate::TermId, Passing> passing_;
  std::vector<enumerate::TermId> passing_order_;
  std::uint64_t arena_pairs_ = 0;
  std::vector<execute::WaveNode> wave_;
  std::vector<execute::Fingerprint> prints_;
  std::vector<std::uint32_t> renaming_, image_of_;
  std::vector<ImageArguments> image_arguments_;
  std::uint64_t products_ = 0;
};

}  // namespace rulemill::fingerprint
