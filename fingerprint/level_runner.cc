#include "fingerprint/level_runner.h"

#include <spdlog/spdlog.h>
#include <algorithm>
#include <utility>

#include "execute/gpu/emulated_backend.h"
#include "execute/values/real_values.h"
#include "fingerprint/gpu_orbit_evaluator.h"
#include "runtime/mpi/parallel_for_ranks.h"
#include "runtime/process/machine.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/byte_lists.h"
#include "runtime/text/error.h"
#include "runtime/text/quantity.h"

namespace rulemill::fingerprint {

using enumerate::SignatureId;
using enumerate::TermId;

namespace {

/// The fixed part of a row in a message; its arguments follow.
struct RowRecord {
  OrbitFingerprint fingerprint;
  std::uint64_t row = 0;
  SignatureId signature = 0;
  std::uint32_t orbit_size = 0;
};

}  // namespace

void EvaluatedRows::resize(std::uint64_t first_row, std::uint64_t rows, std::uint32_t arity_stride) {
  first = first_row;
  signatures.assign(rows, enumerate::no_id);
  arguments.assign(rows * arity_stride, enumerate::no_id);
  fingerprints.assign(rows, {});
  orbit_sizes.assign(rows, 0);
}

void EvaluatedRows::set(const Orbit& orbit, std::uint32_t output) {
  set(orbit.row + output, orbit.signature, orbit.arguments, static_cast<std::uint32_t>(orbit.renaming.size()),
      orbit_fingerprint(orbit, output));
}

void EvaluatedRows::set(std::uint64_t row, SignatureId signature, std::span<const TermId> terms,
                        std::uint32_t orbit_size, const OrbitFingerprint& fingerprint) {
  const std::uint64_t at = row - first;
  signatures[at] = signature;
  orbit_sizes[at] = orbit_size;
  fingerprints[at] = fingerprint;
  std::ranges::copy(terms, arguments.begin() + static_cast<std::ptrdiff_t>(at * stride()));
}

void EvaluatedRows::append(std::size_t at, runtime::Bytes& bytes) const {
  runtime::append_value(bytes, RowRecord{fingerprints[at], first + at, signatures[at], orbit_sizes[at]});
  runtime::append_bytes(bytes, runtime::bytes_of(std::span(arguments).subspan(at * stride(), stride())));
}

std::size_t EvaluatedRows::take(runtime::ByteView& bytes) {
  const auto record = runtime::take_value<RowRecord>(bytes);
  const runtime::ByteView terms = runtime::take_bytes(bytes, stride() * sizeof(TermId));
  const std::size_t at = record.row - first;
  RM_CHECK(at < signatures.size(), "the row belongs to another range");
  fingerprints[at] = record.fingerprint;
  signatures[at] = record.signature;
  orbit_sizes[at] = record.orbit_size;
  std::memcpy(arguments.data() + at * stride(), terms.data(), terms.size());
  return at;
}

using enumerate::SignatureId;
using enumerate::TermId;
using execute::block_width;
using execute::FieldPair;
using execute::Fingerprint;
using execute::GpuError;

namespace {

/// Units that the enumerator counts at a time; each takes some tenths of a millisecond.
constexpr std::size_t units_per_batch = 64;
constexpr std::uint64_t variable_stream = 0x7661726961626c65u;

}  // namespace

LevelRunner::LevelRunner(const enumerate::Profile& profile, algebra::Library& library, const Options& options,
                         const runtime::Communicator& communicator)
    : profile_(profile),
      options_(options),
      communicator_(communicator),
      enumerator_(profile, library, options.no_symmetry),
      thread_pool_(options.threads),
      executor_(profile.seed, profile.max_elements, options.instructions, profile.values),
      context_(profile.values, library.functions(), profile.seed),
      values_(communicator) {
  add_variables();
}

void LevelRunner::add_variables() {
  const auto& terms = enumerator_.terms();
  add_value_groups();
  for (TermId t = 0; t < terms.terms(); ++t) {
    FieldPair* target = values_.tensor(terms.group(t), terms.slot(t));
    const std::uint64_t variable = execute::random_word(profile_.seed ^ variable_stream, t);
    for (std::uint32_t e = 0; e < values_.elements(terms.group(t)); ++e)
      target[std::size_t{e} * block_width] = execute::random_value(context_.domain, variable, e);
  }
  std::vector<Fingerprint> fingerprints(terms.terms());
  for (TermId t = 0; t < terms.terms(); ++t) {
    std::array<Fingerprint, block_width> lanes;
    const std::uint64_t type = execute::type_key(enumerator_.types().shape(terms.type(t)), profile_.seed);
    executor_.hash(values_.block(terms.group(t), terms.slot(t) / block_width), values_.elements(terms.group(t)), type,
                   lanes.data());
    fingerprints[t] = lanes[terms.slot(t) % block_width];
    classes_.emplace(fingerprints[t], t);
  }
  const enumerate::Symmetry& symmetry = enumerator_.symmetry();
  std::uint64_t orbits = 0;
  for (TermId t = 0; t < terms.terms(); ++t) {
    const enumerate::RenamingList& list = symmetry.renamings().of(terms.variables(t));
    OrbitFingerprint fingerprint{fingerprints[t], 0, list.count, 0};
    for (std::uint32_t r = 1; r < list.count; ++r) {
      const Fingerprint& image = fingerprints[symmetry.rename(t, list.swaps_of(r))];
      if (image < fingerprint.minimum) fingerprint = {image, r, list.count, 0};
    }
    fingerprints_.push_back(fingerprint);
    orbits_.push_back(symmetry.canonical(t));
    orbits += symmetry.is_canonical(t) ? 1 : 0;
  }
  statistics_.push_back({0, terms.terms(), terms.terms(), 0, orbits, terms.terms()});
}

void LevelRunner::compile() {
  programs_.resize(enumerator_.signatures().size());
  std::vector<SignatureId> missing;
  for (const SignatureId s : enumerator_.signatures_in_use()) {
    if (programs_[s] == nullptr) missing.push_back(s);
  }
  const std::size_t base = owned_.size();
  owned_.resize(base + missing.size());
  thread_pool_.run(missing.size(), [&](std::size_t i, unsigned) {
    const enumerate::Signature& signature = enumerator_.signatures()[missing[i]];
    std::vector<enumerate::Dims> shapes;
    for (const auto type : signature.arguments) shapes.push_back(enumerator_.types().shape(type));
    try {
      owned_[base + i] = std::make_unique<execute::TypedProgram>(
          execute::compile_node(*signature.instance, shapes, signature.sizes, context_, profile_.max_elements));
    } catch (const execute::ProgramTooLarge& error) {
      const enumerate::Family& family = enumerator_.signatures().families()[signature.family];
      throw runtime::InputError(family.place(), signature.instance->name + ", " + error.what());
    }
    programs_[missing[i]] = owned_[base + i].get();
  });
}

/// An operator that applies to no term is usually a mistake in the profile; it may also apply at a higher level.
void LevelRunner::warn_about_unused_operators() const {
  if (!communicator_.is_root()) return;
  for (const enumerate::ProfileOperator* entry : enumerator_.signatures().unused_operators())
    spdlog::warn(
        "{}: operator '{}' never applies: neither a variable nor a term of fewer operators has a shape that it "
        "accepts there",
        entry->place, entry->name);
}

void LevelRunner::distribute(std::size_t count, const std::function<void(std::size_t)>& body,
                             std::size_t items_per_batch) const {
  const runtime::Stopwatch watch;
  const auto at = [&](std::size_t i, unsigned) { body(i); };
  runtime::parallel_for_ranks({fingerprint_stage, count, items_per_batch}, at, thread_pool_, communicator_);
  distributed_seconds_ += watch.seconds();
}

void LevelRunner::prepare(std::uint32_t last) {
  const auto parallel_for = [&](std::size_t count, const std::function<void(std::size_t)>& body) {
    distribute(count, body, units_per_batch);
  };
  const auto sum = [&](const std::vector<std::uint64_t>& counts) { return communicator_.sum(counts); };
  runtime::Stopwatch watch;
  const auto add_lap = [&](StepTime& step) {
    step.total += watch.lap();
    step.distributed += std::exchange(distributed_seconds_, 0);
  };
  for (std::uint32_t level = 1; level <= last; ++level) {
    const enumerate::LevelCounts counts = enumerator_.begin_level(level, parallel_for, sum);
    enumerate::check_id_range(enumerator_.terms().terms() + counts.terms, enumerator_.terms().nodes() + counts.nodes);
    statistics_.push_back({0, 0, 0, 0, counts.nodes, counts.terms});
    compile();
    if (level == last) warn_about_unused_operators();
    add_lap(level == last ? times_.counting : times_.expanded_levels);
    if (level + 2 <= last) {
      complete_expanded_level(counts.terms);
      add_lap(times_.expanded_levels);
    } else if (level + 1 == last) {
      complete_canonical_level(counts.terms);
      add_lap(times_.canonical_level);
    }
  }
  open_gpu();
}

void LevelRunner::check_memory(std::uint64_t more, const char* what) const {
  if (options_.memory == 0) return;
  // Shared memory counts in equal parts for the ranks of a node, whichever rank touched the pages.
  const std::uint64_t shared = values_.is_shared() ? values_.bytes() : 0;
  const std::uint64_t own = runtime::current_memory_bytes() - std::min(shared, runtime::shared_memory_bytes());
  const std::uint64_t used = own + shared / static_cast<std::uint64_t>(communicator_.node().size());
  if (used + more <= options_.memory) return;
  throw runtime::Error("--memory " + runtime::format_bytes(options_.memory),
                       std::string(what) + " of level " + std::to_string(enumerator_.level()) + " need " +
                           runtime::format_bytes(more) + " per rank in addition to " + runtime::format_bytes(used) +
                           " in use; allow at least " + runtime::format_bytes(used + more) + ", or reduce --max-ops");
}

void LevelRunner::open_gpu() {
  if (options_.device == DeviceChoice::Cpu) return;
  if (context_.domain == algebra::Domain::Reals) {
    if (options_.device == DeviceChoice::Gpu)
      throw runtime::InputError(profile_.origin,
                                "values = \"reals\": GPUs cannot evaluate over the reals; expected "
                                "another --device than gpu");
    const bool has_gpu =
        options_.device == DeviceChoice::Emulated || options_.open_gpu_backend || !execute::available_gpus().empty();
    if (has_gpu && communicator_.is_root())
      spdlog::warn("{}: values = \"reals\": GPUs cannot evaluate over the reals; using the CPU", profile_.origin);
    return;
  }
  try {
    gpu_ = open_gpu_evaluator();
    if (!gpu_) return;
    gpu_->add_terms(expanded_terms(enumerator_, options_.all_terms), values_);
    gpu_->add_programs(programs_);
  } catch (const GpuError& error) {
    fall_back_to_cpu(error);
    gpu_.reset();
  }
}

std::unique_ptr<execute::GpuEvaluator> LevelRunner::open_gpu_evaluator() const {
  const std::size_t threads = thread_pool_.threads();
  if (options_.open_gpu_backend)
    return std::make_unique<execute::GpuEvaluator>(options_.open_gpu_backend(), executor_.keys(), threads);
  if (options_.device == DeviceChoice::Emulated)
    return std::make_unique<execute::GpuEvaluator>(execute::emulated_backend(), executor_.keys(), threads);
  const std::size_t count = execute::available_gpus().size();
  if (count != 0) {
    const std::size_t ranks_per_gpu = (static_cast<std::size_t>(communicator_.node().size()) + count - 1) / count;
    return execute::GpuEvaluator::open(options_.gpu_index % count, executor_.keys(), threads * ranks_per_gpu);
  }
  const std::string problem = execute::gpu_problem();
  if (options_.device == DeviceChoice::Gpu)
    throw runtime::InputError("--device gpu", problem.empty() ? "no GPU can be used here" : problem);
  if (!problem.empty() && communicator_.is_root()) spdlog::warn("no GPU can be used: {}; using the CPU", problem);
  return nullptr;
}

void LevelRunner::fall_back_to_cpu(const GpuError& error) const {
  if (options_.device == DeviceChoice::Gpu) throw;
  if (!gpu_failed_.exchange(true)) spdlog::warn("{}; falling back to the CPU", error.what());
}

std::string LevelRunner::backend() const {
  if (gpu_) return gpu_->name() + (gpu_failed_ ? ", failed; then cpu " + to_string(executor_.instruction_set()) : "");
  return context_.domain == algebra::Domain::Reals ? "cpu reals" : "cpu " + to_string(executor_.instruction_set());
}

void LevelRunner::walk(std::uint64_t first, std::uint64_t last, enumerate::NodeSink& sink, EvaluatedRows* rows) const {
  if (row_source_ != nullptr && rows != nullptr)
    enumerator_.walk(first, last, *row_source_->reuse_rows(sink, *rows));
  else
    enumerator_.walk(first, last, sink);
}

std::uint64_t LevelRunner::evaluate(std::uint64_t first, std::uint64_t last, const OrbitEvaluator::Receiver& receiver,
                                    EvaluatedRows* rows) const {
  execute::BatchEvaluator evaluator(programs_, values_, executor_);
  OrbitEvaluator orbits(enumerator_, programs_, options_.all_terms, evaluator, receiver);
  walk(first, last, orbits, rows);
  orbits.finish();
  return orbits.products();
}

std::uint64_t LevelRunner::evaluate_on_gpu(std::uint64_t first, std::uint64_t last, EvaluatedRows& rows) const {
  GpuOrbitEvaluator orbits(
      enumerator_, programs_, *gpu_,
      [&](std::uint64_t row, SignatureId signature, std::span<const TermId> arguments, std::uint32_t orbit_size,
          const OrbitFingerprint& fingerprint) { rows.set(row, signature, arguments, orbit_size, fingerprint); });
  walk(first, last, orbits, &rows);
  orbits.finish();
  return orbits.products();
}

std::uint64_t LevelRunner::evaluate(std::uint64_t first, std::uint64_t last, EvaluatedRows& rows) const {
  if (gpu_ && !gpu_failed_) {
    try {
      return evaluate_on_gpu(first, last, rows);
    } catch (const GpuError& error) {
      fall_back_to_cpu(error);
    }
  }
  const OrbitEvaluator::Receiver set_rows = [&](const Orbit& orbit) {
    for (std::uint32_t o = 0; o < orbit.outputs; ++o) rows.set(orbit, o);
  };
  return evaluate(first, last, set_rows, &rows);
}

std::vector<std::uint32_t> LevelRunner::degree_bounds() const {
  if (context_.domain == algebra::Domain::Reals) return std::vector<std::uint32_t>(enumerator_.types().size(), 0);
  std::vector<std::uint32_t> bounds(enumerator_.types().size(), 1);
  // Each level raises degrees once, so one round per level covers every chain of nodes.
  for (std::size_t level = 1; level < statistics_.size(); ++level) {
    std::vector<std::uint32_t> next = bounds;
    for (SignatureId s = 0; s < programs_.size(); ++s) {
      if (programs_[s] == nullptr) continue;
      const enumerate::Signature& signature = enumerator_.signatures()[s];
      std::vector<std::uint32_t> inputs;
      for (const auto type : signature.arguments) inputs.push_back(bounds[type]);
      const auto outputs = programs_[s]->program.degrees(inputs);
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        std::uint32_t& bound = next[signature.outputs[o]];
        bound = std::max(bound, outputs[o]);
      }
    }
    bounds = std::move(next);
  }
  return bounds;
}

}  // namespace rulemill::fingerprint
