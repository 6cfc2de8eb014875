#include <cuda_runtime.h>

#include <algorithm>
#include <mutex>

#include "execute/device.h"
#include "execute/node_body.h"

namespace rulemill::execute {
namespace {

constexpr std::uint32_t threads_a_block = 128;

void must(cudaError_t status, const char* call) {
  if (status != cudaSuccess) throw DeviceError("device", std::string(call) + ": " + cudaGetErrorString(status));
}

/// Device memory, freed with its owner.
template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t size) : size_(size) {
    if (size != 0) must(cudaMalloc(reinterpret_cast<void**>(&data_), size * sizeof(T)), "cudaMalloc");
  }
  explicit DeviceArray(std::span<const T> values) : DeviceArray(values.size()) {
    if (size_ != 0) must(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(DeviceArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  T* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// A group of stored tensors on the device.
struct ResidentGroup {
  const Pair* pairs;
  std::uint32_t elements;
  std::uint32_t unused;
};

/// What a block of threads evaluates: part of a run.
struct Piece {
  std::uint32_t program;
  std::uint32_t first;
  std::uint32_t count;
  std::uint32_t unused;
  std::uint64_t scratch;  // first pair
};

__global__ void evaluate_pieces(const Piece* pieces, const NodeProgram* programs, const WaveNode* nodes,
                                const ResidentGroup* groups, Pair* arena, const Pair* keys, Pair* scratch,
                                Fingerprint* prints) {
  const Piece piece = pieces[blockIdx.x];
  if (threadIdx.x >= piece.count) return;
  const NodeProgram& program = programs[piece.program];
  const WaveNode& node = nodes[piece.first + threadIdx.x];
  const Pair* inputs[most_inputs];
  for (std::uint32_t i = 0; i < program.view.inputs; ++i) {
    const TensorRef argument = node.arguments[i];
    if (argument.in_arena()) {
      inputs[i] = arena + argument.at();
    } else {
      const ResidentGroup group = groups[argument.group()];
      inputs[i] = group.pairs + tensor_offset(argument.slot(), group.elements);
    }
  }
  // Eight neighbours share a block of scratch, so that their accesses fall together.
  Pair* own = scratch + piece.scratch +
              std::size_t{threadIdx.x / block_width} * program.scratch_elements * block_width +
              threadIdx.x % block_width;
  Fingerprint found[most_outputs];
  Pair* keep = node.keep_at == WaveNode::not_kept ? nullptr : arena + node.keep_at;
  run_node(program, inputs, own, keys, found, keep, node.keep_output);
  for (std::uint32_t o = 0; o < program.output_count; ++o) prints[node.print + o] = found[o];
}

/// A program's arrays on the device.
struct ResidentProgram {
  explicit ResidentProgram(const TypedProgram& typed)
      : steps(typed.program.steps),
        rows(typed.program.rows),
        factors(typed.program.factors),
        scales(typed.program.scales),
        functions(typed.program.functions),
        coefficients(typed.program.coefficients) {
    ProgramView view = typed.program.view();
    view.steps = steps.data();
    view.rows = rows.data();
    view.factors = factors.data();
    view.scales = scales.data();
    view.functions = functions.data();
    view.coefficients = coefficients.data();
    node = node_program(typed, view);
  }
  DeviceArray<ProgramStep> steps;
  DeviceArray<std::uint32_t> rows;
  DeviceArray<Factors> factors;
  DeviceArray<std::uint32_t> scales;
  DeviceArray<FunctionKey> functions;
  DeviceArray<Pair> coefficients;
  NodeProgram node;
};

/// A stream and buffers, so that copies of one runner overlap with the evaluation of another.
class Lane {
 public:
  Lane() { must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate"); }
  ~Lane() { cudaStreamDestroy(stream); }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  template <class T>
  void upload(DeviceArray<T>& array, std::span<const T> values) {
    reserve(array, values.size());
    must(cudaMemcpyAsync(array.data(), values.data(), values.size_bytes(), cudaMemcpyHostToDevice, stream),
         "cudaMemcpyAsync");
  }
  template <class T>
  static void reserve(DeviceArray<T>& array, std::size_t size) {
    if (array.size() >= size) return;
    array = DeviceArray<T>();
    array = DeviceArray<T>(size + size / 4);
  }

  cudaStream_t stream = nullptr;
  DeviceArray<Piece> pieces;
  DeviceArray<WaveNode> nodes;
  DeviceArray<Pair> arena, scratch;
  DeviceArray<Fingerprint> prints;
};

class CudaDevice final : public Device {
 public:
  CudaDevice(std::size_t ordinal, std::span<const Pair> keys) : ordinal_(static_cast<int>(ordinal)) {
    bind();
    cudaDeviceProp properties{};
    must(cudaGetDeviceProperties(&properties, ordinal_), "cudaGetDeviceProperties");
    name_ = properties.name;
    keys_ = DeviceArray<Pair>(keys);
  }

  std::string name() const override { return name_; }

  void add_values(const ValueStore& values) override {
    bind();
    for (auto g = static_cast<std::uint32_t>(values_.size()); g < values.groups(); ++g) {
      values_.emplace_back(values.values(g));
    }
    std::vector<ResidentGroup> groups;
    for (std::uint32_t g = 0; g < values_.size(); ++g) groups.push_back({values_[g].data(), values.elements(g), 0});
    groups_ = DeviceArray<ResidentGroup>(std::span<const ResidentGroup>(groups));
  }

  void add_programs(std::span<const TypedProgram* const> programs) override {
    bind();
    resident_.resize(programs.size());
    host_programs_.resize(programs.size());
    for (std::size_t p = 0; p < programs.size(); ++p) {
      if (programs[p] == nullptr || resident_[p]) continue;
      resident_[p] = std::make_unique<ResidentProgram>(*programs[p]);
      host_programs_[p] = resident_[p]->node;
    }
    programs_ = DeviceArray<NodeProgram>(std::span<const NodeProgram>(host_programs_));
  }

  std::unique_ptr<WaveRunner> runner() override;

 private:
  /// The current device is each thread's own.
  void bind() const { must(cudaSetDevice(ordinal_), "cudaSetDevice"); }

  friend class CudaRunner;
  int ordinal_;
  std::string name_;
  DeviceArray<Pair> keys_;
  std::vector<DeviceArray<Pair>> values_;  // by group
  DeviceArray<ResidentGroup> groups_;
  std::vector<std::unique_ptr<ResidentProgram>> resident_;
  std::vector<NodeProgram> host_programs_;
  DeviceArray<NodeProgram> programs_;
  std::mutex mutex_;  // guards lanes_
  std::vector<std::unique_ptr<Lane>> lanes_;
};

/// Runs waves for one thread in a lane that it borrows from the device.
class CudaRunner final : public WaveRunner {
 public:
  explicit CudaRunner(CudaDevice& device) : device_(device) {
    device_.bind();
    const std::scoped_lock lock(device_.mutex_);
    if (device_.lanes_.empty()) device_.lanes_.push_back(std::make_unique<Lane>());
    lane_ = std::move(device_.lanes_.back());
    device_.lanes_.pop_back();
  }
  ~CudaRunner() override {
    const std::scoped_lock lock(device_.mutex_);
    device_.lanes_.push_back(std::move(lane_));
  }

  /// Enough nodes to fill a device's multiprocessors many times over; 512 MB of values.
  Batch batch() const override { return {1 << 19, 1 << 26}; }

  void reserve(std::uint64_t arena_pairs) override { Lane::reserve(lane_->arena, arena_pairs); }

  void run(std::span<const WaveNode> nodes, std::span<Fingerprint> prints) override {
    if (nodes.empty()) return;
    device_.bind();
    // Nodes of one program together, in pieces of one block of threads each.
    const auto& programs = device_.host_programs_;
    std::vector<std::uint32_t> next(programs.size() + 1, 0);
    for (const WaveNode& node : nodes) ++next[node.program + 1];
    std::vector<Piece> pieces;
    std::uint64_t scratch = 0;
    for (std::uint32_t p = 0; p < programs.size(); ++p) {
      const std::uint32_t count = next[p + 1];
      const std::uint64_t each = std::uint64_t{programs[p].scratch_elements} * threads_a_block;
      for (std::uint32_t first = 0; first < count; first += threads_a_block) {
        pieces.push_back({p, next[p] + first, std::min(threads_a_block, count - first), 0, scratch});
        scratch += each;
      }
      next[p + 1] += next[p];
    }
    sorted_.resize(nodes.size());
    for (const WaveNode& node : nodes) sorted_[next[node.program]++] = node;
    lane_->upload(lane_->pieces, std::span<const Piece>(pieces));
    lane_->upload(lane_->nodes, std::span<const WaveNode>(sorted_));
    Lane::reserve(lane_->scratch, std::max<std::size_t>(1, scratch));
    Lane::reserve(lane_->prints, prints.size());
    evaluate_pieces<<<static_cast<unsigned>(pieces.size()), threads_a_block, 0, lane_->stream>>>(
        lane_->pieces.data(), device_.programs_.data(), lane_->nodes.data(), device_.groups_.data(),
        lane_->arena.data(), device_.keys_.data(), lane_->scratch.data(), lane_->prints.data());
    must(cudaGetLastError(), "evaluate_pieces");
    must(cudaMemcpyAsync(prints.data(), lane_->prints.data(), prints.size_bytes(), cudaMemcpyDeviceToHost,
                         lane_->stream),
         "cudaMemcpyAsync");
    must(cudaStreamSynchronize(lane_->stream), "cudaStreamSynchronize");
  }

 private:
  CudaDevice& device_;
  std::unique_ptr<Lane> lane_;
  std::vector<WaveNode> sorted_;
};

std::unique_ptr<WaveRunner> CudaDevice::runner() { return std::make_unique<CudaRunner>(*this); }

}  // namespace

std::vector<DeviceInfo> devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return {};
  std::vector<DeviceInfo> found;
  for (int d = 0; d < count; ++d) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, d) == cudaSuccess)
      found.push_back({properties.name, properties.totalGlobalMem});
  }
  return found;
}

std::unique_ptr<Device> Device::open(std::size_t ordinal, std::span<const Pair> keys) {
  return std::make_unique<CudaDevice>(ordinal, keys);
}

}  // namespace rulemill::execute
