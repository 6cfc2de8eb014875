#include "fingerprint/level_runner.h"

#include <spdlog/spdlog.h>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <unordered_set>

#include "algebra/execution/plan.h"
#include "runtime/error.h"
#include "runtime/machine.h"
#include "runtime/quantity.h"

namespace rulemill::fingerprint {

using enumerate::SignatureId;
using enumerate::TermId;

namespace {

constexpr std::uint64_t variable_stream = 0x7661726961626c65u;
/// Rows that a thread takes at a time while completing a level.
constexpr std::uint64_t rows_at_once = 1 << 12;

}  // namespace

void RowRange::resize(std::uint64_t first_row, std::uint64_t rows, std::uint32_t arity_stride) {
  first = first_row;
  signatures.assign(rows, enumerate::no_id);
  arguments.assign(rows * arity_stride, enumerate::no_id);
  prints.assign(rows, {});
  images.assign(rows, 0);
}

LevelRunner::LevelRunner(const enumerate::Profile& profile, algebra::Library& library, const Options& options,
                         const runtime::Communicator& communicator)
    : profile_(profile),
      library_(library),
      options_(options),
      communicator_(communicator),
      enumerator_(profile, library, options.every_renaming),
      workers_(options.threads),
      executor_(profile.seed, profile.max_elements, options.instructions),
      functions_(function_keys(library, profile.seed)) {
  add_variables();
}

void LevelRunner::add_variables() {
  const auto& terms = enumerator_.terms();
  values_.grow(enumerator_);
  for (TermId t = 0; t < terms.terms(); ++t) {
    Pair* target = values_.tensor(terms.group(t), terms.slot(t));
    for (std::uint32_t e = 0; e < values_.elements(terms.group(t)); ++e) {
      target[std::size_t{e} * block_width] = random_pair(random_word(profile_.seed ^ variable_stream, t), e);
    }
  }
  std::vector<Fingerprint> prints(terms.terms());
  for (TermId t = 0; t < terms.terms(); ++t) {
    std::array<Fingerprint, block_width> lanes;
    const std::uint64_t type = type_key(enumerator_.types().shape(terms.type(t)), profile_.seed);
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
  compiled_.resize(enumerator_.signatures().size());
  std::vector<SignatureId> missing;
  for (const SignatureId s : enumerator_.signatures_in_use()) {
    if (compiled_[s] == nullptr) missing.push_back(s);
  }
  const std::size_t base = owned_.size();
  owned_.resize(base + missing.size());
  workers_.run(missing.size(), [&](std::size_t i, unsigned) {
    const enumerate::Signature& signature = enumerator_.signatures()[missing[i]];
    std::vector<enumerate::Dims> shapes;
    for (const auto type : signature.arguments) shapes.push_back(enumerator_.types().shape(type));
    const auto plan = algebra::compile(library_, *signature.instance, shapes, signature.sizes);
    RM_CHECK(plan.has_value(), "a signature that types has a plan");
    auto made = std::make_unique<CompiledSignature>();
    made->program = make_program(*plan, functions_, profile_.seed);
    for (const auto type : signature.outputs) {
      made->type_keys.push_back(type_key(enumerator_.types().shape(type), profile_.seed));
    }
    compiled_[missing[i]] = made.get();
    owned_[base + i] = std::move(made);
  });
}

void LevelRunner::prepare(std::uint32_t last) {
  const auto parallel_for = [&](std::size_t count, const std::function<void(std::size_t)>& body) {
    workers_.run_unless_stopped(count, [&](std::size_t i, unsigned) { body(i); });
  };
  const enumerate::CountShare alone;
  const enumerate::CountShare share{
      static_cast<std::uint64_t>(communicator_.rank()), static_cast<std::uint64_t>(communicator_.size()),
      [&](const std::vector<std::uint64_t>& counts) { return communicator_.sum(counts); }};
  auto lap = std::chrono::steady_clock::now();
  const auto note = [&](double& time) {
    const auto now = std::chrono::steady_clock::now();
    time += std::chrono::duration<double>(now - lap).count();
    lap = now;
  };
  for (std::uint32_t level = 1; level <= last; ++level) {
    const enumerate::LevelCounts counts = enumerator_.begin_level(level, parallel_for, level == last ? share : alone);
    runtime::require_going_on(fingerprint_stage, communicator_);
    enumerate::require_ids(enumerator_.terms().terms() + counts.terms, enumerator_.terms().nodes() + counts.nodes);
    figures_.push_back({0, 0, 0, 0, counts.nodes, counts.terms});
    compile();
    if (level + 1 == last) open_device();
    note(level == last ? times_.counting : times_.own_levels);
    if (level + 2 <= last) {
      complete_named(counts.terms);
      note(times_.own_levels);
    } else if (level + 1 == last) {
      complete_canonical(counts.terms);
      note(times_.shared_level);
    }
  }
  if (last == 1) open_device();
  if (!device_) return;
  try {
    device_->add_programs(compiled_);
  } catch (const DeviceError& error) {
    leave_device(error);
  }
}

void LevelRunner::check_memory(std::uint64_t more, const char* what) const {
  if (options_.memory == 0) return;
  const std::uint64_t used = runtime::current_memory_bytes();
  if (used + more <= options_.memory) return;
  throw runtime::Error("--memory " + runtime::in_bytes(options_.memory),
                       std::string(what) + " of level " + std::to_string(enumerator_.level()) + " need " +
                           runtime::in_bytes(more) + " a rank beside " + runtime::in_bytes(used) +
                           " in use: allow at least " + runtime::in_bytes(used + more) + ", or fewer operators");
}

void LevelRunner::open_device() {
  if (options_.device == DeviceChoice::Cpu) return;
  try {
    const std::size_t count = options_.open_device ? 1 : devices().size();
    if (count == 0) return;
    device_ = options_.open_device ? options_.open_device(executor_.keys())
                                   : Device::open(options_.device_ordinal % count, executor_.keys());
    device_->add_values(values_, enumerator_);
    device_->add_programs(compiled_);
  } catch (const DeviceError& error) {
    leave_device(error);
  }
}

void LevelRunner::leave_device(const DeviceError& error) {
  spdlog::warn("{}; the CPU evaluates instead", error.what());
  device_.reset();
}

std::string LevelRunner::backend() const {
  return device_ ? "cuda " + device_->name() : "cpu " + to_string(executor_.instruction_set());
}

std::uint64_t LevelRunner::evaluate(std::uint64_t first, std::uint64_t last,
                                    const OrbitEvaluator::Receiver& receiver) const {
  const auto run = [&](WaveRunner& runner) {
    OrbitEvaluator evaluator(enumerator_, compiled_, options_.all_terms, runner, receiver);
    enumerator_.walk(first, last, evaluator);
    evaluator.finish();
    return evaluator.products();
  };
  Evaluator evaluator(enumerator_, compiled_, values_, executor_);
  return run(evaluator);
}

std::uint64_t LevelRunner::evaluate(std::uint64_t first, std::uint64_t last, RowRange& rows) const {
  const std::uint32_t stride = enumerator_.arity_stride();
  const OrbitEvaluator::Receiver note = [&](const Orbit& orbit) {
    for (std::uint32_t o = 0; o < orbit.outputs; ++o) {
      const std::uint64_t at = orbit.row + o - rows.first;
      rows.signatures[at] = orbit.signature;
      rows.images[at] = static_cast<std::uint32_t>(orbit.renaming.size());
      rows.prints[at] = orbit_print(orbit, o);
      std::ranges::copy(orbit.arguments, rows.arguments.begin() + static_cast<std::ptrdiff_t>(at * stride));
    }
  };
  if (device_ && !device_failed_) {
    try {
      const std::unique_ptr<WaveRunner> runner = device_->runner();
      OrbitEvaluator evaluator(enumerator_, compiled_, options_.all_terms, *runner, note);
      enumerator_.walk(first, last, evaluator);
      evaluator.finish();
      return evaluator.products();
    } catch (const DeviceError& error) {
      if (!device_failed_.exchange(true)) spdlog::warn("{}; the CPU continues", error.what());
    }
  }
  return evaluate(first, last, note);
}

void LevelRunner::store_values(TermId first_term) {
  const auto& terms = enumerator_.terms();
  check_memory(values_.needed(enumerator_), "the values");
  values_.grow(enumerator_);
  const std::size_t count = terms.terms() - first_term;
  workers_.run_unless_stopped((count + rows_at_once - 1) / rows_at_once, [&](std::size_t c, unsigned) {
    Evaluator evaluator(enumerator_, compiled_, values_, executor_);
    std::array<Fingerprint, 64> unused;
    std::array<const Pair*, enumerate::max_arity> arguments{};
    const auto end = static_cast<TermId>(first_term + std::min(count, (c + 1) * rows_at_once));
    for (auto t = static_cast<TermId>(first_term + c * rows_at_once); t < end; ++t) {
      if (!terms.is_extended(t)) continue;
      const auto n = terms.node(t);
      const auto taken = terms.arguments(n);
      for (std::size_t i = 0; i < taken.size(); ++i)
        arguments[i] = values_.tensor(terms.group(taken[i]), terms.slot(taken[i]));
      evaluator.add(terms.signature(n), std::span(arguments).first(taken.size()), unused.data(),
                    values_.tensor(terms.group(t), terms.slot(t)), terms.output(t));
    }
    evaluator.finish();
  });
  runtime::require_going_on(fingerprint_stage, communicator_);
}

void LevelRunner::complete_named(std::uint64_t count) {
  struct Part {
    enumerate::NamedNodes nodes;
    std::vector<Fingerprint> prints;       // by node, then output
    std::vector<OrbitPrint> orbit_prints;  // by orbit, then output
    std::vector<std::uint32_t> outputs;    // by orbit
    std::uint64_t products = 0;
  };
  const std::uint32_t stride = enumerator_.arity_stride();
  std::vector<Part> parts((count + rows_at_once - 1) / rows_at_once);
  workers_.run_unless_stopped(parts.size(), [&](std::size_t p, unsigned) {
    Part& part = parts[p];
    const OrbitEvaluator::Receiver note = [&](const Orbit& orbit) {
      part.nodes.signatures.push_back(orbit.signature);
      part.nodes.first_image.push_back(static_cast<std::uint32_t>(part.nodes.renaming.size()));
      part.nodes.renaming.insert(part.nodes.renaming.end(), orbit.renaming.begin(), orbit.renaming.end());
      for (std::size_t image = 0; image < orbit.renaming.size(); ++image) {
        for (std::uint32_t i = 0; i < stride; ++i) {
          const bool used = i < orbit.arguments.size();
          part.nodes.arguments.push_back(used ? orbit.image_arguments[image * enumerate::max_arity + i].term()
                                              : enumerate::no_id);
        }
      }
      part.prints.insert(part.prints.end(), orbit.prints.begin(), orbit.prints.end());
      part.outputs.push_back(orbit.outputs);
      for (std::uint32_t o = 0; o < orbit.outputs; ++o) part.orbit_prints.push_back(orbit_print(orbit, o));
    };
    part.products = evaluate(p * rows_at_once, std::min(count, (p + 1) * rows_at_once), note);
  });
  runtime::require_going_on(fingerprint_stage, communicator_);

  std::uint64_t named = enumerator_.terms().terms();
  for (const Part& part : parts) named += part.prints.size();
  enumerate::require_ids(named, named);
  LevelFigures& figures = figures_.back();
  enumerate::NamedNodes all;
  const auto first_term = static_cast<TermId>(enumerator_.terms().terms());
  auto term = first_term;
  for (Part& part : parts) {
    figures.products += part.products;
    const auto base = static_cast<std::uint32_t>(all.renaming.size());
    std::size_t print = 0, orbit_print = 0;
    for (std::size_t orbit = 0; orbit < part.outputs.size(); ++orbit) {
      const std::uint32_t outputs = part.outputs[orbit];
      const std::uint32_t begin = part.nodes.first_image[orbit];
      const std::uint32_t end = orbit + 1 < part.outputs.size()
                                    ? part.nodes.first_image[orbit + 1]
                                    : static_cast<std::uint32_t>(part.nodes.renaming.size());
      all.signatures.push_back(part.nodes.signatures[orbit]);
      all.first_image.push_back(base + begin);
      const TermId first = term;
      for (std::uint32_t image = begin; image < end; ++image) {
        for (std::uint32_t o = 0; o < outputs; ++o, ++term) {
          all.representatives.push_back(classes_.try_emplace(part.prints[print++], term).first->second);
          figures.new_values += all.representatives.back() == term ? 1 : 0;
          prints_.push_back(part.orbit_prints[orbit_print + o]);
          orbits_.push_back(first + o);
        }
      }
      orbit_print += outputs;
    }
    all.renaming.insert(all.renaming.end(), part.nodes.renaming.begin(), part.nodes.renaming.end());
    all.arguments.insert(all.arguments.end(), part.nodes.arguments.begin(), part.nodes.arguments.end());
    part = Part();
  }
  all.first_image.push_back(static_cast<std::uint32_t>(all.renaming.size()));
  figures.nodes = all.renaming.size();
  figures.terms = figures.rows = term - first_term;
  enumerator_.end_level(all, options_.all_terms);
  store_values(first_term);
}

namespace {

/// A row as ranks tell each other of it; its arguments and the renamings that fix it follow.
struct RowRecord {
  OrbitPrint print;
  std::uint64_t row = 0;
  SignatureId signature = 0;
  std::uint32_t images = 0;
  std::uint32_t fixing = 0;
  std::uint32_t unused = 0;
};

}  // namespace

void LevelRunner::exchange(std::uint64_t count, RowRange& rows, enumerate::CanonicalNodes& nodes) {
  const std::uint32_t stride = enumerator_.arity_stride();
  runtime::Bytes mine;
  const auto append = [&](runtime::ByteView bytes) { mine.insert(mine.end(), bytes.begin(), bytes.end()); };
  for (std::uint64_t row = 0; row < count; ++row) {
    if (rows.signatures[row] == enumerate::no_id) continue;
    runtime::append_value(mine, RowRecord{rows.prints[row], row, rows.signatures[row], rows.images[row],
                                          static_cast<std::uint32_t>(nodes.fixing[row].size()), 0});
    append(runtime::bytes_of(std::span(rows.arguments).subspan(row * stride, stride)));
    append(runtime::bytes_of(nodes.fixing[row]));
  }
  for (const runtime::Bytes& part : communicator_.all_gather(mine)) {
    const std::byte* at = part.data();
    const auto take = [&](void* target, std::size_t bytes) {
      std::memcpy(target, at, bytes);
      at += bytes;
    };
    while (at != part.data() + part.size()) {
      RowRecord record;
      take(&record, sizeof record);
      rows.prints[record.row] = record.print;
      rows.signatures[record.row] = record.signature;
      rows.images[record.row] = record.images;
      take(&rows.arguments[record.row * stride], stride * sizeof(TermId));
      nodes.fixing[record.row].resize(record.fixing);
      take(nodes.fixing[record.row].data(), record.fixing * sizeof(std::uint32_t));
    }
  }
}

void LevelRunner::complete_canonical(std::uint64_t count) {
  enumerate::CanonicalNodes nodes;
  RowRange rows;
  constexpr std::uint64_t bytes_a_row = 3 * sizeof(OrbitPrint) + sizeof(std::vector<std::uint32_t>) + 64;
  check_memory(count * (bytes_a_row + enumerator_.arity_stride() * sizeof(TermId)), "the rows");
  rows.resize(0, count, enumerator_.arity_stride());
  nodes.fixing.resize(count);
  std::atomic<std::uint64_t> products{0};
  const std::uint32_t stride = enumerator_.arity_stride();
  const std::size_t chunks = (count + rows_at_once - 1) / rows_at_once;
  const auto ranks = static_cast<std::size_t>(communicator_.size()),
             rank = static_cast<std::size_t>(communicator_.rank());
  const std::size_t first_chunk = chunks * rank / ranks, last_chunk = chunks * (rank + 1) / ranks;
  workers_.run_unless_stopped(last_chunk - first_chunk, [&](std::size_t own, unsigned) {
    const std::size_t c = first_chunk + own;
    const OrbitEvaluator::Receiver note = [&](const Orbit& orbit) {
      for (std::uint32_t o = 0; o < orbit.outputs; ++o) {
        const std::uint64_t row = orbit.row + o;
        rows.signatures[row] = orbit.signature;
        rows.images[row] = static_cast<std::uint32_t>(orbit.renaming.size());
        rows.prints[row] = orbit_print(orbit, o);
        std::ranges::copy(orbit.arguments, rows.arguments.begin() + static_cast<std::ptrdiff_t>(row * stride));
        for (std::uint32_t r = 1; r < orbit.image_of.size(); ++r) {
          const std::uint32_t image = orbit.image_of[r];
          const bool same =
              image == 0 || (!options_.all_terms && orbit.prints[image * orbit.outputs + o] == orbit.prints[o]);
          if (same) nodes.fixing[row].push_back(r);
        }
      }
    };
    products += evaluate(c * rows_at_once, std::min(count, (c + 1) * rows_at_once), note);
  });
  runtime::require_going_on(fingerprint_stage, communicator_);
  if (ranks > 1) exchange(count, rows, nodes);
  LevelFigures& figures = figures_.back();
  figures.products = communicator_.sum(products.load());
  std::unordered_set<Fingerprint, FingerprintHash> known;
  known.reserve(prints_.size() + count);
  for (const OrbitPrint& print : prints_) known.insert(print.print);
  const auto first_term = static_cast<TermId>(enumerator_.terms().terms());
  images_.assign(enumerator_.terms().nodes(), 0);
  for (std::uint64_t row = 0; row < count; ++row) {
    const bool is_new = known.insert(rows.prints[row].print).second;
    nodes.is_new.push_back(is_new);
    figures.new_values += is_new ? rows.prints[row].values : 0;
    figures.terms += rows.images[row];
    prints_.push_back(rows.prints[row]);
    orbits_.push_back(static_cast<TermId>(first_term + row));
  }
  nodes.signatures = std::move(rows.signatures);
  nodes.arguments = std::move(rows.arguments);
  enumerator_.end_level(nodes, options_.all_terms);
  for (std::uint64_t row = 0; row < count; row += enumerator_.signatures()[nodes.signatures[row]].outputs.size()) {
    images_.push_back(rows.images[row]);
    figures.nodes += rows.images[row];
  }
}

std::vector<std::uint32_t> LevelRunner::degree_bounds() const {
  std::vector<std::uint32_t> bounds(enumerator_.types().size(), 1);
  // A level raises degrees once; as many rounds as levels cover every chain of nodes.
  for (std::size_t level = 1; level < figures_.size(); ++level) {
    std::vector<std::uint32_t> next = bounds;
    for (SignatureId s = 0; s < compiled_.size(); ++s) {
      if (compiled_[s] == nullptr) continue;
      const enumerate::Signature& signature = enumerator_.signatures()[s];
      std::vector<std::uint32_t> inputs;
      for (const auto type : signature.arguments) inputs.push_back(bounds[type]);
      const auto outputs = compiled_[s]->program.degrees(inputs);
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
