#include "execute/device.h"

#include <algorithm>

#include "execute/aligned_pairs.h"

namespace rulemill::execute {

namespace {

/// Parts of a slot's memory, one behind the other.
class Parts {
 public:
  explicit Parts(std::byte* memory) : next_(memory) {}
  template <class T>
  T* take(std::uint64_t count) {
    auto* part = reinterpret_cast<T*>(next_);
    next_ += count * sizeof(T);
    return part;
  }

 private:
  std::byte* next_;
};

}  // namespace

NodeProgram node_program(const TypedProgram& typed, const ProgramView& view) {
  const Program& program = typed.program;
  RM_CHECK(program.outputs.size() <= most_outputs && program.inputs <= most_inputs && program.steps.size() <= 32,
           "a program is too long for a device");
  NodeProgram node;
  node.view = view;
  node.output_count = static_cast<std::uint32_t>(program.outputs.size());
  std::ranges::copy(program.outputs, node.outputs);
  std::ranges::copy(program.output_elements, node.output_elements);
  std::ranges::copy(typed.type_keys, node.type_keys);
  std::ranges::copy(typed.input_elements, node.input_elements);
  for (const Factors& factors : program.factors) {
    for (const std::uint32_t factor : {factors.left, factors.right}) {
      const std::uint32_t operand = factor >> operand_shift;
      if (operand >= program.inputs && operand < program.coefficient_operand)
        node.stored_steps |= 1u << (operand - program.inputs);
    }
  }
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    node.scratch_at[s] = node.scratch_elements;
    if (node.stored_steps >> s & 1) node.scratch_elements += program.steps[s].elements;
  }
  return node;
}

DeviceCounts& DeviceCounts::operator+=(const DeviceCounts& other) {
  resident_bytes += other.resident_bytes;
  uploaded_bytes += other.uploaded_bytes;
  downloaded_bytes += other.downloaded_bytes;
  batches += other.batches;
  pieces += other.pieces;
  nodes += other.nodes;
  passing += other.passing;
  passing_items += other.passing_items;
  words += other.words;
  names += other.names;
  minima += other.minima;
  items += other.items;
  operands += other.operands;
  staged += other.staged;
  arguments += other.arguments;
  arena_bytes += other.arena_bytes;
  microseconds += other.microseconds;
  return *this;
}

Device::Device(std::unique_ptr<Card> card, std::span<const Pair> keys)
    : card_(std::move(card)), limits_(card_->limits()) {
  resident_.keys = resident(keys);
}

template <class T>
const T* Device::resident(std::span<const T> values) {
  memory_.push_back(card_->memory(values.size_bytes()));
  card_->write(memory_.back().get(), reinterpret_cast<const std::byte*>(values.data()), values.size_bytes());
  const std::scoped_lock lock(mutex_);
  counts_.resident_bytes += values.size_bytes();
  return reinterpret_cast<const T*>(memory_.back().get());
}

void Device::add_terms(const NamedTerms& terms, const ValueStore& values) {
  // A group's tensors are columns of one section.
  std::vector<std::uint32_t> begin, columns(values.groups(), 0);
  for (std::size_t t = 0; t < terms.groups.size(); ++t) {
    if (terms.groups[t] != NamedTerms::no_group)
      columns[terms.groups[t]] = std::max(columns[terms.groups[t]], terms.slots[t] + 1);
  }
  std::uint64_t pairs = 0;
  for (std::uint32_t g = 0; g < values.groups(); ++g) {
    begin.push_back(static_cast<std::uint32_t>(pairs));
    pairs += std::uint64_t{(columns[g] + warp_width - 1) / warp_width} * warp_width * values.elements(g);
    if (pairs >= passing_bit) throw DeviceError("device", "more values than a device addresses");
  }
  AlignedPairs placed(pairs);
  std::vector<std::uint32_t> sections, places;
  for (std::size_t t = 0; t < terms.groups.size(); ++t) {
    const std::uint32_t g = terms.groups[t], column = terms.slots[t];
    const bool has_values = g != NamedTerms::no_group;
    places_.push_back(has_values ? TermPlace{begin[g], column, columns[g]} : TermPlace{});
    sections.push_back(places_.back().section);
    places.push_back(places_.back().column);
    if (!has_values) continue;
    const Pair* from = values.tensor(g, column);
    Pair* to = placed.data() + begin[g] + column_offset(column, values.elements(g));
    for (std::size_t e = 0; e < values.elements(g); ++e) to[e * warp_width] = from[e * block_width];
  }
  resident_.values = resident(std::span<const Pair>(placed.data(), placed.size()));
  resident_.term_sections = resident(std::span<const std::uint32_t>(sections));
  resident_.term_columns = resident(std::span<const std::uint32_t>(places));
  resident_.swapped = resident(std::span<const std::uint32_t>(terms.swapped));
  resident_.named_terms = static_cast<std::uint32_t>(terms.groups.size());
  resident_.all_terms = terms.all_terms ? 1 : 0;
}

void Device::add_programs(std::span<const TypedProgram* const> programs) {
  programs_.assign(programs.size(), {});
  for (std::size_t p = 0; p < programs.size(); ++p) {
    if (programs[p] == nullptr) continue;
    const Program& program = programs[p]->program;
    ProgramView view = program.view();
    view.steps = resident(std::span(program.steps));
    view.rows = resident(std::span(program.rows));
    view.factors = resident(std::span(program.factors));
    view.scales = resident(std::span(program.scales));
    view.functions = resident(std::span(program.functions));
    view.coefficients = resident(std::span(program.coefficients));
    programs_[p] = node_program(*programs[p], view);
    resident_.scratch_elements = std::max(resident_.scratch_elements, programs_[p].scratch_elements);
  }
  resident_.programs = resident(std::span<const NodeProgram>(programs_));
}

DeviceCounts Device::counts() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

Device::Slot::Slot(Card& card, const Device& device)
    : batch(device.programs_, device.places_),
      upload(card.pinned(device.limits_.upload_bytes)),
      download(card.pinned(device.limits_.download_bytes)),
      arena(card.memory(device.limits_.upload_bytes + device.limits_.work_bytes)),
      scratch(card.memory(std::uint64_t{card.blocks()} * threads_a_block * device.resident_.scratch_elements *
                          sizeof(Pair))),
      queue(card.queue()) {}

std::unique_ptr<DeviceLane> Device::lane() { return std::make_unique<DeviceLane>(*this); }

DeviceLane::DeviceLane(Device& device) : device_(device) {
  {
    const std::scoped_lock lock(device_.mutex_);
    if (!device_.free_.empty()) {
      slots_ = std::move(device_.free_.back());
      device_.free_.pop_back();
      return;
    }
  }
  for (auto& slot : slots_) slot = std::make_unique<Device::Slot>(*device_.card_, device_);
}

DeviceLane::~DeviceLane() {
  // What a failure left under way is not used again: its queue is destroyed before its memory.
  const bool idle = !is_under_way(0) && !is_under_way(1);
  const std::scoped_lock lock(device_.mutex_);
  device_.counts_ += counts_;
  if (!idle) return;
  for (auto& slot : slots_) slot->batch.clear();
  device_.free_.push_back(std::move(slots_));
}

bool DeviceLane::fits(const OrbitBatch::More& more) {
  if (batch().fits(more, device_.limits_)) return true;
  if (batch().empty()) throw DeviceError("device", "a node has more names than fit");
  return false;
}

void DeviceLane::submit() {
  Device::Slot& slot = *slots_[slot_];
  slot.packed = slot.batch.arrange();
  const BatchLimits& limits = device_.limits_;
  RM_CHECK(slot.packed.upload_bytes() <= limits.upload_bytes && slot.packed.download_bytes() <= limits.download_bytes &&
               slot.packed.work_bytes() <= limits.work_bytes,
           "a batch fits the memory that it was measured by");
  slot.batch.pack(slot.upload.get());
  slot.under_way = true;
  run(slot);
  slot_ = 1 - slot_;
}

void DeviceLane::run(Device::Slot& slot) {
  const PackedBatch& packed = slot.packed;
  // Sections of the upload stand first; all that follow begin at their alignment, the largest first.
  Parts parts(slot.arena.get());
  OrbitView view = device_.resident_;
  view.scratch = reinterpret_cast<Pair*>(slot.scratch.get());
  view.most_arguments = packed.most_arguments;
  view.arena = parts.take<Pair>(packed.arena_pairs);
  view.prints = parts.take<Fingerprint>(packed.prints);
  auto* minima = parts.take<OrbitMinimum>(packed.minima);
  auto* upload = parts.take<std::byte>(0);
  const auto* passing_pieces = parts.take<OrbitPiece>(packed.passing_pieces);
  const auto* row_pieces = parts.take<OrbitPiece>(packed.row_pieces);
  view.passing = parts.take<PassingPlace>(packed.passing);
  view.nodes = parts.take<std::uint32_t>(packed.words);
  view.names = parts.take<std::uint16_t>(packed.names + packed.names % 2);
  view.codes = parts.take<std::uint32_t>(packed.codes);
  view.same = parts.take<std::uint32_t>(packed.passing_items);
  view.first = parts.take<std::uint32_t>(packed.items);
  view.turns = parts.take<std::uint32_t>(packed.items);

  const runtime::Stopwatch watch;
  slot.queue->upload(upload, slot.upload.get(), packed.upload_bytes());
  if (packed.passing_pieces != 0) {
    view.pieces = passing_pieces;
    view.piece_count = packed.passing_pieces;
    slot.queue->run(view);
  }
  view.pieces = row_pieces;
  view.piece_count = packed.row_pieces;
  view.minima = minima;
  slot.queue->run(view);
  slot.queue->download(slot.download.get(), reinterpret_cast<const std::byte*>(minima), packed.download_bytes());
  note_time(watch);

  counts_ += {.uploaded_bytes = packed.upload_bytes(),
              .downloaded_bytes = packed.download_bytes(),
              .batches = 1,
              .pieces = packed.passing_pieces + packed.row_pieces,
              .nodes = packed.nodes,
              .passing = packed.passing,
              .passing_items = packed.passing_items,
              .words = packed.words,
              .names = packed.names,
              .minima = packed.minima,
              .items = slot.batch.items(),
              .operands = packed.operands,
              .staged = packed.staged,
              .arguments = packed.arguments,
              .arena_bytes = packed.arena_pairs * sizeof(Pair)};
}

void DeviceLane::note_time(const runtime::Stopwatch& watch) {
  counts_.microseconds += static_cast<std::uint64_t>(watch.seconds() * 1e6);
}

std::span<const OrbitMinimum> DeviceLane::collect(std::size_t slot) {
  Device::Slot& one = *slots_[slot];
  const runtime::Stopwatch watch;
  one.queue->wait();
  note_time(watch);
  one.under_way = false;
  return {reinterpret_cast<const OrbitMinimum*>(one.download.get()), one.packed.minima};
}

#ifndef RULEMILL_HAVE_CUDA
std::vector<DeviceInfo> devices() { return {}; }
std::unique_ptr<Device> Device::open(std::size_t, std::span<const Pair>) {
  throw DeviceError("device", "this build has no CUDA");
}
#endif

}  // namespace rulemill::execute
