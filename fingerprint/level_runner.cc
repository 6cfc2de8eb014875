#include "fingerprint/level_runner.h"

#include <spdlog/spdlog.h>
#include <algorithm>
#include <utility>

#include "execute/emulated_card.h"
#include "execute/real_values.h"
#include "fingerprint/device_orbits.h"
#include "fingerprint/earlier_table.h"
#include "runtime/error.h"
#include "runtime/machine.h"
#include "runtime/quantity.h"
#include "runtime/shared_loop.h"
#include "runtime/stopwatch.h"

namespace rulemill::fingerprint {

using enumerate::SignatureId;
using enumerate::TermId;
using execute::block_width;
using execute::DeviceError;
using execute::Fingerprint;
using execute::Pair;

namespace {

/// Of what an enumerator counts at a time, some tenths of a millisecond each.
constexpr std::size_t units_at_once = 64;
constexpr std::uint64_t variable_stream = 0x7661726961626c65u;

}  // namespace

LevelRunner::LevelRunner(const enumerate::Profile& profile, algebra::Library& library, const Options& options,
                         const runtime::Communicator& communicator)
    : profile_(profile),
      options_(options),
      communicator_(communicator),
      enumerator_(profile, library, options.every_renaming),
      workers_(options.threads),
      executor_(profile.seed, profile.max_elements, options.instructions, profile.values),
      ground_(profile.values, library.functions(), profile.seed),
      values_(communicator) {
  add_variables();
}

void LevelRunner::add_variables() {
  const auto& terms = enumerator_.terms();
  grow_values();
  for (TermId t = 0; t < terms.terms(); ++t) {
    Pair* target = values_.tensor(terms.group(t), terms.slot(t));
    const std::uint64_t variable = execute::random_word(profile_.seed ^ variable_stream, t);
    for (std::uint32_t e = 0; e < values_.elements(terms.group(t)); ++e) {
      target[std::size_t{e} * block_width] = execute::random_value(ground_.domain, variable, e);
    }
  }
  std::vector<Fingerprint> prints(terms.terms());
  for (TermId t = 0; t < terms.terms(); ++t) {
    std::array<Fingerprint, block_width> lanes;
    const std::uint64_t type = execute::type_key(enumerator_.types().shape(terms.type(t)), profile_.seed);
    executor_.hash(values_.block(terms.group(t), terms.slot(t) / block_width), values_.elements(terms.group(t)), type,
                   lanes.data());
    prints[t] = lanes[terms.slot(t) % block_width];
    classes_.emplace(prints[t], t);
  }
  const enumerate::Symmetry& symmetry = enumerator_.symmetry();
  std::uint64_t orbits = 0;
  for (TermId t = 0; t < terms.terms(); ++t) {
    const enumerate::RenamingList& list = symmetry.renamings().of(terms.variables(t));
    OrbitPrint print{prints[t], 0, list.count, 0};
    for (std::uint32_t r = 1; r < list.count; ++r) {
      const Fingerprint& image = prints[symmetry.rename(t, list.swaps_of(r))];
      if (image < print.print) print = {image, r, list.count, 0};
    }
    prints_.push_back(print);
    orbits_.push_back(symmetry.canonical(t));
    orbits += symmetry.is_canonical(t) ? 1 : 0;
  }
  figures_.push_back({0, terms.terms(), terms.terms(), 0, orbits, terms.terms()});
}

void LevelRunner::compile() {
  programs_.resize(enumerator_.signatures().size());
  std::vector<SignatureId> missing;
  for (const SignatureId s : enumerator_.signatures_in_use()) {
    if (programs_[s] == nullptr) missing.push_back(s);
  }
  const std::size_t base = owned_.size();
  owned_.resize(base + missing.size());
  workers_.run(missing.size(), [&](std::size_t i, unsigned) {
    const enumerate::Signature& signature = enumerator_.signatures()[missing[i]];
    std::vector<enumerate::Dims> shapes;
    for (const auto type : signature.arguments) shapes.push_back(enumerator_.types().shape(type));
    try {
      owned_[base + i] = std::make_unique<execute::TypedProgram>(
          execute::compile_node(*signature.instance, shapes, signature.sizes, ground_, profile_.max_elements));
    } catch (const execute::TooLarge& error) {
      const enumerate::Family& family = enumerator_.signatures().families()[signature.family];
      throw runtime::InputError(family.place(), signature.instance->name + ", " + error.what());
    }
    programs_[missing[i]] = owned_[base + i].get();
  });
}

/// An operator that applies to nothing is mostly a mistake in the profile, and sometimes only deeper than this run
/// goes.
void LevelRunner::warn_of_idle_operators() const {
  if (!communicator_.is_root()) return;
  for (const enumerate::OperatorEntry* entry : enumerator_.signatures().idle_operators()) {
    spdlog::warn(
        "{}: operator '{}' never applies: neither a variable nor a term of fewer operators has a shape that it "
        "accepts there",
        entry->place, entry->name);
  }
}

void LevelRunner::share(std::size_t count, const std::function<void(std::size_t)>& body, std::size_t at_once) const {
  const runtime::Stopwatch watch;
  const auto at = [&](std::size_t i, unsigned) { body(i); };
  runtime::run_shared({fingerprint_stage, count, at_once}, at, workers_, communicator_);
  sharing_ += watch.seconds();
}

void LevelRunner::prepare(std::uint32_t last) {
  const auto parallel_for = [&](std::size_t count, const std::function<void(std::size_t)>& body) {
    share(count, body, units_at_once);
  };
  const auto sum = [&](const std::vector<std::uint64_t>& counts) { return communicator_.sum(counts); };
  runtime::Stopwatch watch;
  const auto note = [&](StepTime& step) {
    step.all += watch.lap();
    step.shared += std::exchange(sharing_, 0);
  };
  for (std::uint32_t level = 1; level <= last; ++level) {
    const enumerate::LevelCounts counts = enumerator_.begin_level(level, parallel_for, sum);
    enumerate::require_ids(enumerator_.terms().terms() + counts.terms, enumerator_.terms().nodes() + counts.nodes);
    figures_.push_back({0, 0, 0, 0, counts.nodes, counts.terms});
    compile();
    if (level == last) warn_of_idle_operators();
    note(level == last ? times_.counting : times_.named_levels);
    if (level + 2 <= last) {
      complete_named(counts.terms);
      note(times_.named_levels);
    } else if (level + 1 == last) {
      complete_canonical(counts.terms);
      note(times_.canonical_level);
    }
  }
  open_device();
}

void LevelRunner::check_memory(std::uint64_t more, const char* what) const {
  if (options_.memory == 0) return;
  // What ranks share is divided among them, whoever has touched it.
  const std::uint64_t shared = values_.shared() ? values_.bytes() : 0;
  const std::uint64_t own = runtime::current_memory_bytes() - std::min(shared, runtime::common_memory_bytes());
  const std::uint64_t used = own + shared / static_cast<std::uint64_t>(communicator_.node().size());
  if (used + more <= options_.memory) return;
  throw runtime::Error("--memory " + runtime::in_bytes(options_.memory),
                       std::string(what) + " of level " + std::to_string(enumerator_.level()) + " need " +
                           runtime::in_bytes(more) + " a rank beside " + runtime::in_bytes(used) +
                           " in use: allow at least " + runtime::in_bytes(used + more) + ", or fewer operators");
}

void LevelRunner::open_device() {
  if (options_.device == DeviceChoice::Cpu) return;
  if (ground_.domain == algebra::Domain::Reals) {
    const bool there = options_.device == DeviceChoice::Emulated || options_.open_card || !execute::devices().empty();
    if (there && communicator_.is_root())
      spdlog::warn("{}: values = \"reals\": no device evaluates over the reals; the CPU does", profile_.origin);
    return;
  }
  try {
    const std::size_t count = options_.device == DeviceChoice::Emulated ? 0 : execute::devices().size();
    if (options_.open_card) {
      device_ = std::make_unique<execute::Device>(options_.open_card(), executor_.keys());
    } else if (options_.device == DeviceChoice::Emulated) {
      device_ = std::make_unique<execute::Device>(execute::emulated_card(), executor_.keys());
    } else if (count != 0) {
      device_ = execute::Device::open(options_.device_ordinal % count, executor_.keys());
    }
    if (!device_) return;
    device_->add_terms(named_terms(enumerator_, options_.all_terms), values_);
    device_->add_programs(programs_);
  } catch (const DeviceError& error) {
    leave_device(error);
  }
}

void LevelRunner::leave_device(const DeviceError& error) {
  spdlog::warn("{}; the CPU evaluates instead", error.what());
  device_.reset();
  device_failed_ = true;
}

std::string LevelRunner::backend() const {
  if (device_) return device_->name();
  return ground_.domain == algebra::Domain::Reals ? "cpu reals" : "cpu " + to_string(executor_.instruction_set());
}

void LevelRunner::walk(std::uint64_t first, std::uint64_t last, enumerate::NodeSink& sink, RowRange* rows) const {
  if (earlier_ != nullptr && rows != nullptr) {
    EarlierTable::Reader reader(*earlier_, sink, *rows);
    enumerator_.walk(first, last, reader);
  } else {
    enumerator_.walk(first, last, sink);
  }
}

std::uint64_t LevelRunner::evaluate(std::uint64_t first, std::uint64_t last, const OrbitEvaluator::Receiver& receiver,
                                    RowRange* rows) const {
  execute::Evaluator evaluator(programs_, values_, executor_);
  OrbitEvaluator orbits(enumerator_, programs_, options_.all_terms, evaluator, receiver);
  walk(first, last, orbits, rows);
  orbits.finish();
  return orbits.products();
}

std::uint64_t LevelRunner::evaluate_on_device(std::uint64_t first, std::uint64_t last, RowRange& rows) const {
  DeviceOrbits orbits(
      enumerator_, programs_, *device_,
      [&](std::uint64_t row, SignatureId signature, std::span<const TermId> arguments, std::uint32_t images,
          const OrbitPrint& print) { rows.set(row, signature, arguments, images, print); });
  walk(first, last, orbits, &rows);
  orbits.finish();
  return orbits.products();
}

std::uint64_t LevelRunner::evaluate(std::uint64_t first, std::uint64_t last, RowRange& rows) const {
  if (device_ && !device_failed_) {
    try {
      return evaluate_on_device(first, last, rows);
    } catch (const DeviceError& error) {
      if (!device_failed_.exchange(true)) spdlog::warn("{}; the CPU continues", error.what());
    }
  }
  const OrbitEvaluator::Receiver note = [&](const Orbit& orbit) {
    for (std::uint32_t o = 0; o < orbit.outputs; ++o) rows.set(orbit, o);
  };
  return evaluate(first, last, note, &rows);
}

std::vector<std::uint32_t> LevelRunner::degree_bounds() const {
  if (ground_.domain == algebra::Domain::Reals) return std::vector<std::uint32_t>(enumerator_.types().size(), 0);
  std::vector<std::uint32_t> bounds(enumerator_.types().size(), 1);
  // A level raises degrees once; as many rounds as levels cover every chain of nodes.
  for (std::size_t level = 1; level < figures_.size(); ++level) {
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
