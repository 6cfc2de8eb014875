#include "execute/gpu/gpu_evaluator.h"

#include <algorithm>

#include "execute/values/aligned_pairs.h"
#include "runtime/text/quantity.h"

namespace rulemill::execute {
namespace {

/// Consecutive arrays in a slot's memory.
class BumpAllocator {
 public:
  explicit BumpAllocator(std::byte* memory) : next_(memory) {}
  template <class T>
  T* take(std::uint64_t count) {
    auto* array = reinterpret_cast<T*>(next_);
    next_ += count * sizeof(T);
    return array;
  }

 private:
  std::byte* next_;
};

}  // namespace

NodeProgram node_program(const TypedProgram& typed, const ProgramView& view) {
  const Program& program = typed.program;
  RM_CHECK(program.outputs.size() <= max_outputs && program.inputs <= max_inputs && program.steps.size() <= 32,
           "the program exceeds the limits of a GPU thread");
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
    node.scratch_offsets[s] = node.scratch_elements;
    if (node.stored_steps >> s & 1) node.scratch_elements += program.steps[s].elements;
  }
  return node;
}

GpuCounters& GpuCounters::operator+=(const GpuCounters& other) {
  resident_bytes += other.resident_bytes;
  uploaded_bytes += other.uploaded_bytes;
  downloaded_bytes += other.downloaded_bytes;
  batches += other.batches;
  tiles += other.tiles;
  nodes += other.nodes;
  transient += other.transient;
  transient_items += other.transient_items;
  words += other.words;
  renaming_words += other.renaming_words;
  minima += other.minima;
  items += other.items;
  operands += other.operands;
  staged += other.staged;
  arguments += other.arguments;
  arena_bytes += other.arena_bytes;
  microseconds += other.microseconds;
  return *this;
}

GpuEvaluator::GpuEvaluator(std::unique_ptr<GpuBackend> backend, std::span<const FieldPair> keys, std::size_t queues)
    : backend_(std::move(backend)), queues_(queues), limits_(backend_->batch_limits()) {
  resident_.keys = resident(keys);
}

template <class T>
const T* GpuEvaluator::resident(std::span<const T> values) {
  memory_.push_back(backend_->allocate(values.size_bytes()));
  backend_->write(memory_.back().get(), reinterpret_cast<const std::byte*>(values.data()), values.size_bytes());
  const std::scoped_lock lock(mutex_);
  counters_.resident_bytes += values.size_bytes();
  return reinterpret_cast<const T*>(memory_.back().get());
}

void GpuEvaluator::add_terms(const ExpandedTerms& terms, const ValueStore& values) {
  // Each group of tensors becomes one section, each tensor a column.
  std::vector<std::uint32_t> begin, columns(values.groups(), 0);
  for (std::size_t t = 0; t < terms.groups.size(); ++t) {
    if (terms.groups[t] != ExpandedTerms::no_group)
      columns[terms.groups[t]] = std::max(columns[terms.groups[t]], terms.slots[t] + 1);
  }
  std::uint64_t pairs = 0;
  for (std::uint32_t g = 0; g < values.groups(); ++g) {
    begin.push_back(static_cast<std::uint32_t>(pairs));
    pairs += std::uint64_t{(columns[g] + warp_width - 1) / warp_width} * warp_width * values.elements(g);
    if (pairs >= transient_bit) throw GpuError("device", "too many values for 31-bit offsets");
  }
  AlignedPairs placed(pairs);
  std::vector<std::uint32_t> term_sections, term_columns;
  for (std::size_t t = 0; t < terms.groups.size(); ++t) {
    const std::uint32_t g = terms.groups[t], column = terms.slots[t];
    const bool has_values = g != ExpandedTerms::no_group;
    term_locations_.push_back(has_values ? TermLocation{begin[g], column, columns[g]} : TermLocation{});
    term_sections.push_back(term_locations_.back().section);
    term_columns.push_back(term_locations_.back().column);
    if (!has_values) continue;
    const FieldPair* from = values.tensor(g, column);
    FieldPair* to = placed.data() + begin[g] + column_offset(column, values.elements(g));
    for (std::size_t e = 0; e < values.elements(g); ++e) to[e * warp_width] = from[e * block_width];
  }
  resident_.values = resident(std::span<const FieldPair>(placed.data(), placed.size()));
  resident_.term_sections = resident(std::span<const std::uint32_t>(term_sections));
  resident_.term_columns = resident(std::span<const std::uint32_t>(term_columns));
  resident_.swapped = resident(std::span<const std::uint32_t>(terms.swapped));
  resident_.expanded_terms = static_cast<std::uint32_t>(terms.groups.size());
  resident_.all_terms = terms.all_terms ? 1 : 0;
}

void GpuEvaluator::add_programs(std::span<const TypedProgram* const> programs) {
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
  fit_to_memory();
}

std::uint64_t GpuEvaluator::scratch_bytes() const {
  return std::uint64_t{backend_->max_resident_blocks()} * threads_per_block * resident_.scratch_elements *
         sizeof(FieldPair);
}

void GpuEvaluator::fit_to_memory() {
  constexpr double usable_share = 0.9, min_share = 1.0 / 128;  // smaller batches leave the GPU idle
  limits_ = backend_->batch_limits();
  const std::uint64_t free = backend_->free_bytes();
  const double each = usable_share * static_cast<double>(free) / (2 * static_cast<double>(queues_));
  const auto batch = static_cast<double>(limits_.upload_bytes + limits_.work_bytes);
  const double share = (each - static_cast<double>(scratch_bytes())) / batch;
  if (share >= 1) return;
  if (share < min_share)
    throw GpuError("device", runtime::format_bytes(free) + " of free memory are too little for " +
                                 std::to_string(queues_) + " threads");
  // Multiples of eight bytes keep arrays aligned.
  for (std::uint64_t* limit : {&limits_.items, &limits_.upload_bytes, &limits_.download_bytes, &limits_.work_bytes})
    *limit = static_cast<std::uint64_t>(share * static_cast<double>(*limit)) / 8 * 8;
}

GpuCounters GpuEvaluator::counters() const {
  const std::scoped_lock lock(mutex_);
  return counters_;
}

GpuEvaluator::BatchSlot::BatchSlot(GpuBackend& backend, const GpuEvaluator& evaluator)
    : batch(evaluator.programs_, evaluator.term_locations_),
      upload(backend.allocate_pinned(evaluator.limits_.upload_bytes)),
      download(backend.allocate_pinned(evaluator.limits_.download_bytes)),
      arena(backend.allocate(evaluator.limits_.upload_bytes + evaluator.limits_.work_bytes)),
      scratch(backend.allocate(evaluator.scratch_bytes())),
      stream(backend.create_stream()) {}

std::unique_ptr<GpuBatchQueue> GpuEvaluator::create_batch_queue() { return std::make_unique<GpuBatchQueue>(*this); }

GpuBatchQueue::GpuBatchQueue(GpuEvaluator& evaluator) : evaluator_(evaluator) {
  {
    const std::scoped_lock lock(evaluator_.mutex_);
    if (!evaluator_.free_slots_.empty()) {
      slots_ = std::move(evaluator_.free_slots_.back());
      evaluator_.free_slots_.pop_back();
      return;
    }
  }
  for (auto& slot : slots_) slot = std::make_unique<GpuEvaluator::BatchSlot>(*evaluator_.backend_, evaluator_);
}

GpuBatchQueue::~GpuBatchQueue() {
  // Memory of a batch in flight may still be in use; destroying the slot waits for its stream first.
  const bool idle = !is_in_flight(0) && !is_in_flight(1);
  const std::scoped_lock lock(evaluator_.mutex_);
  evaluator_.counters_ += counters_;
  if (!idle) return;
  for (auto& slot : slots_) slot->batch.clear();
  evaluator_.free_slots_.push_back(std::move(slots_));
}

bool GpuBatchQueue::fits(const OrbitBatch::Growth& growth) {
  if (batch().fits(growth, evaluator_.limits_)) return true;
  if (batch().empty()) throw GpuError("device", "a node has more renamings than a batch can hold");
  return false;
}

void GpuBatchQueue::submit() {
  GpuEvaluator::BatchSlot& slot = *slots_[slot_];
  slot.packed = slot.batch.arrange();
  const BatchLimits& limits = evaluator_.limits_;
  RM_CHECK(slot.packed.upload_bytes() <= limits.upload_bytes && slot.packed.download_bytes() <= limits.download_bytes &&
               slot.packed.work_bytes() <= limits.work_bytes,
           "fits() admits only batches within the limits");
  slot.batch.pack(slot.upload.get());
  slot.in_flight = true;
  run(slot);
  slot_ = 1 - slot_;
}

void GpuBatchQueue::run(GpuEvaluator::BatchSlot& slot) {
  const PackedBatch& packed = slot.packed;
  // In an order in which every array is aligned; the sections of the upload are contiguous.
  BumpAllocator allocator(slot.arena.get());
  OrbitView view = evaluator_.resident_;
  view.scratch = reinterpret_cast<FieldPair*>(slot.scratch.get());
  view.max_arguments = packed.max_arguments;
  view.arena = allocator.take<FieldPair>(packed.arena_pairs);
  view.fingerprints = allocator.take<Fingerprint>(packed.fingerprints);
  auto* minima = allocator.take<OrbitMinimum>(packed.minima);
  auto* upload = allocator.take<std::byte>(0);
  const auto* transient_tiles = allocator.take<OrbitTile>(packed.transient_tiles);
  const auto* row_tiles = allocator.take<OrbitTile>(packed.row_tiles);
  view.transient = allocator.take<TransientTerm>(packed.transient);
  view.nodes = allocator.take<std::uint32_t>(packed.words);
  view.renaming_words = allocator.take<std::uint16_t>(packed.renaming_words + packed.renaming_words % 2);
  view.argument_codes = allocator.take<std::uint32_t>(packed.argument_codes);
  view.equal_renamings = allocator.take<std::uint32_t>(packed.transient_items);
  view.representatives = allocator.take<std::uint32_t>(packed.items);
  view.distinct_items = allocator.take<std::uint32_t>(packed.items);

  const runtime::Stopwatch watch;
  slot.stream->upload(upload, slot.upload.get(), packed.upload_bytes());
  if (packed.transient_tiles != 0) {
    view.tiles = transient_tiles;
    view.tile_count = packed.transient_tiles;
    slot.stream->run(view);
  }
  view.tiles = row_tiles;
  view.tile_count = packed.row_tiles;
  view.minima = minima;
  slot.stream->run(view);
  slot.stream->download(slot.download.get(), reinterpret_cast<const std::byte*>(minima), packed.download_bytes());
  add_time(watch);

  counters_ += {.uploaded_bytes = packed.upload_bytes(),
                .downloaded_bytes = packed.download_bytes(),
                .batches = 1,
                .tiles = packed.transient_tiles + packed.row_tiles,
                .nodes = packed.nodes,
                .transient = packed.transient,
                .transient_items = packed.transient_items,
                .words = packed.words,
                .renaming_words = packed.renaming_words,
                .minima = packed.minima,
                .items = slot.batch.items(),
                .operands = packed.operands,
                .staged = packed.staged,
                .arguments = packed.arguments,
                .arena_bytes = packed.arena_pairs * sizeof(FieldPair)};
}

void GpuBatchQueue::add_time(const runtime::Stopwatch& watch) {
  counters_.microseconds += static_cast<std::uint64_t>(watch.seconds() * 1e6);
}

std::span<const OrbitMinimum> GpuBatchQueue::collect(std::size_t slot) {
  GpuEvaluator::BatchSlot& pending = *slots_[slot];
  const runtime::Stopwatch watch;
  pending.stream->wait();
  add_time(watch);
  pending.in_flight = false;
  return {reinterpret_cast<const OrbitMinimum*>(pending.download.get()), pending.packed.minima};
}

#ifndef RULEMILL_HAVE_CUDA
bool has_cuda() { return false; }
std::vector<GpuInfo> available_gpus() { return {}; }
std::string gpu_problem() { return {}; }
std::unique_ptr<GpuEvaluator> GpuEvaluator::open(std::size_t, std::span<const FieldPair>, std::size_t) {
  throw GpuError("device", "this build has no CUDA support");
}
#endif

}  // namespace rulemill::execute
