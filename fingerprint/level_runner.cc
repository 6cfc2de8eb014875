#include "fingerprint/level_runner.h"

#include <spdlog/spdlog.h>
#include <algorithm>
#include <unordered_map>

#include "algebra/plan.h"
#include "runtime/error.h"

namespace rulemill::fingerprint {

using enumerate::SignatureId;
using enumerate::TermId;

namespace {

constexpr std::uint64_t variable_stream = 0x7661726961626c65u;
/// Rows that a thread takes at a time while completing a level.
constexpr std::uint64_t rows_at_once = 1 << 14;

/// What tells a class: the fingerprint covers the type.
struct FingerprintHash {
  std::size_t operator()(const Fingerprint& f) const { return f.low; }
};

}  // namespace

LevelRunner::LevelRunner(const enumerate::Profile& profile, algebra::Library& library, const Options& options)
    : profile_(profile),
      library_(library),
      options_(options),
      enumerator_(profile, library),
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
  fingerprints_.resize(terms.terms());
  for (TermId t = 0; t < terms.terms(); ++t) {
    std::array<Fingerprint, block_width> lanes;
    const std::uint64_t type = type_key(enumerator_.types().shape(terms.type(t)), profile_.seed);
    executor_.hash(values_.block(terms.group(t), terms.slot(t) / block_width), values_.elements(terms.group(t)), type,
                   lanes.data());
    fingerprints_[t] = lanes[terms.slot(t) % block_width];
  }
  figures_.push_back({0, terms.terms(), terms.terms(), 0});
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
    workers_.run(count, [&](std::size_t i, unsigned) { body(i); });
  };
  for (std::uint32_t level = 1; level <= last; ++level) {
    const enumerate::LevelCounts counts = enumerator_.begin_level(level, parallel_for);
    figures_.push_back({counts.nodes, counts.terms, 0, 0});
    compile();
    if (level < last) complete(counts.terms);
  }
  open_device();
}

void LevelRunner::open_device() {
  if (options_.device == DeviceChoice::Cpu) return;
  try {
    const std::size_t count = devices().size();
    if (count == 0) return;
    device_ = Device::open(options_.device_ordinal % count, executor_.keys(), enumerator_.arity_stride());
    device_->add_values(values_, enumerator_);
    device_->add_programs(compiled_);
  } catch (const DeviceError& error) {
    spdlog::warn("{}; the CPU evaluates instead", error.what());
    device_.reset();
  }
}

std::string LevelRunner::backend() const {
  return device_ ? "cuda " + device_->name() : "cpu " + to_string(executor_.instruction_set());
}

std::uint64_t LevelRunner::evaluate(std::uint64_t first, std::uint64_t last, RowRange& rows) const {
  if (device_ && !device_failed_) {
    try {
      DeviceBatcher batcher(enumerator_, compiled_, rows);
      enumerator_.walk(first, last, batcher);
      device_->evaluate(batcher.batch(), rows.fingerprints);
      return batcher.products();
    } catch (const DeviceError& error) {
      if (!device_failed_.exchange(true)) spdlog::warn("{}; the CPU continues", error.what());
    }
  }
  Evaluator evaluator(enumerator_, compiled_, values_, executor_, &rows);
  enumerator_.walk(first, last, evaluator);
  evaluator.finish();
  return evaluator.products();
}

void LevelRunner::complete(std::uint64_t count) {
  RowRange rows;
  rows.resize(0, count, enumerator_.arity_stride());
  const std::size_t chunks = (count + rows_at_once - 1) / rows_at_once;
  std::atomic<std::uint64_t> products{0};
  workers_.run(chunks, [&](std::size_t c, unsigned) {
    products += evaluate(c * rows_at_once, std::min(count, (c + 1) * rows_at_once), rows);
  });
  LevelFigures& figures = figures_.back();
  figures.products = products;

  const auto first_term = static_cast<TermId>(enumerator_.terms().terms());
  std::unordered_map<Fingerprint, TermId, FingerprintHash> classes;
  classes.reserve(first_term + count);
  for (TermId t = 0; t < first_term; ++t) classes.try_emplace(fingerprints_[t], t);
  std::vector<TermId> representatives(count);
  for (std::uint64_t row = 0; row < count; ++row) {
    const auto term = static_cast<TermId>(first_term + row);
    representatives[row] = classes.try_emplace(rows.fingerprints[row], term).first->second;
    figures.new_values += representatives[row] == term ? 1 : 0;
  }
  fingerprints_.insert(fingerprints_.end(), rows.fingerprints.begin(), rows.fingerprints.end());
  enumerator_.end_level(rows.signatures, rows.arguments, representatives, options_.all_terms);

  // The values are computed a second time, now that their places are known: a small part of the next level's work.
  values_.grow(enumerator_);
  workers_.run(chunks, [&](std::size_t c, unsigned) {
    Evaluator evaluator(enumerator_, compiled_, values_, executor_, nullptr);
    evaluator.store_values(values_, first_term);
    enumerator_.walk(c * rows_at_once, std::min(count, (c + 1) * rows_at_once), evaluator);
    evaluator.finish();
  });
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
