#include "optimize/gpu/kernels/kernel_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/text/error.h"
#include "runtime/text/hash.h"

namespace rulemill::optimize::gpu {

using algebra::Atom;
using algebra::Function;
using algebra::Poly;
using algebra::Symbols;
using Kind = ElementExpr::Kind;

namespace {

std::string literal(double value) {
  const auto number = static_cast<float>(value);
  if (std::isinf(number)) return number > 0 ? "infinity()" : "-infinity()";
  std::string text = fmt::format("{:.9g}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return number < 0 ? "(" + text + "f)" : text + "f";
}

std::string function_name(const Function& function) { return "f_" + function.name; }

/// Applies an operation to two operands, or to the second one.
std::string step(Function::Op op, const std::string& a, const std::string& b) {
  using Op = Function::Op;
  static const std::map<Op, const char*> patterns = {{Op::Add, "({0} + {1})"},
                                                     {Op::Sub, "({0} - {1})"},
                                                     {Op::Mul, "({0} * {1})"},
                                                     {Op::Div, "({0} / {1})"},
                                                     {Op::Max, "largest({0}, {1})"},
                                                     {Op::Min, "least({0}, {1})"},
                                                     {Op::Less, "({0} < {1} ? 1.0f : 0.0f)"},
                                                     {Op::Equal, "({0} == {1} ? 1.0f : 0.0f)"},
                                                     {Op::Gate, "({0} != 0.0f ? {1} : 0.0f)"},
                                                     {Op::Power, "powf({0}, {1})"},
                                                     {Op::Exp, "expf({1})"},
                                                     {Op::Log, "logf({1})"},
                                                     {Op::Sqrt, "sqrtf({1})"},
                                                     {Op::Tanh, "tanhf({1})"},
                                                     {Op::Erf, "erff({1})"},
                                                     {Op::Abs, "fabsf({1})"},
                                                     {Op::Floor, "floorf({1})"},
                                                     {Op::Sin, "sinf({1})"},
                                                     {Op::Cos, "cosf({1})"},
                                                     {Op::Asin, "asinf({1})"},
                                                     {Op::Acos, "acosf({1})"},
                                                     {Op::Atan, "atanf({1})"}};
  const auto found = patterns.find(op);
  if (found == patterns.end())
    throw runtime::Error("kernel", "a function has an operation that kernels do not support");
  return fmt::format(fmt::runtime(found->second), a, b);
}

std::string source_of(const Function& function) {
  std::vector<std::string> stack;
  for (const Function::Instruction& node : function.program) {
    if (node.op == Function::Op::Argument) {
      stack.push_back("a" + std::to_string(node.argument));
    } else if (node.op == Function::Op::Number) {
      stack.push_back(literal(node.number));
    } else {
      const std::string b = stack.back();
      stack.pop_back();
      if (is_unary(node.op))
        stack.push_back(step(node.op, b, b));
      else
        stack.back() = step(node.op, stack.back(), b);
    }
  }
  std::string parameters;
  for (std::uint32_t i = 0; i < function.arity; ++i)
    parameters += (i == 0 ? "float a" : ", float a") + std::to_string(i);
  return "static __device__ float " + function_name(function) + "(" + parameters + ") { return " + stack.at(0) +
         "; }\n";
}

/// Functions that kernels call, besides scalar functions.
constexpr const char* prelude =
    R"(static __device__ float infinity() { const float large = 3e38f; return large * large; }
static __device__ float largest(float a, float b) { return a < b ? b : a; }
static __device__ float least(float a, float b) { return b < a ? b : a; }
template <class Index> static __device__ Index floor_quotient(Index a, Index b) {
  const Index q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
template <class Index> static __device__ Index smaller(Index a, Index b) { return a < b ? a : b; }
template <class Index> static __device__ Index larger(Index a, Index b) { return a < b ? b : a; }
)";

class KernelWriter {
 public:
  KernelWriter(const TensorExpr& expr, std::span<const std::vector<std::int64_t>> dims,
               std::span<const Function> library, const Symbols& symbols, const KernelLayouts& layouts)
      : expr_(expr), dims_(dims), library_(library), symbols_(symbols), layouts_(layouts) {}

  Kernel run() {
    Kernel kernel;
    kernel.elements = expr_.elements();
    track_range(kernel.elements + Kernel::threads_per_block);
    const std::string result = value(*expr_.element);
    line("out[e] = " + result + ";");
    std::string parameters;
    for (std::size_t i = 0; i < reads_.size(); ++i) parameters += fmt::format("const float* __restrict__ t{}, ", i);
    const std::string rest = fmt::format(
        "({}float* __restrict__ out) {{\n  typedef {} Index;\n"
        "  const Index e = (Index)blockIdx.x * (Index)blockDim.x + (Index)threadIdx.x;\n  if (e >= {}) "
        "return;\n{}{}}}\n",
        parameters, wide_ ? "long long" : "int", kernel.elements, index_declarations(), lines_);
    kernel.name = "kernel_" + runtime::to_hex(runtime::hash64(runtime::bytes_of(std::string_view(rest))));
    kernel.source = "extern \"C\" __global__ void " + kernel.name + rest;
    kernel.reads = reads_;
    kernel.functions = functions_;
    return kernel;
  }

 private:
  /// Declares the thread's index in each dimension.
  std::string index_declarations() const {
    std::string text;
    std::int64_t stride = 1;
    const std::vector<std::size_t> order = dims_in_memory_order(layouts_.out, expr_.dims.size());
    for (std::size_t i = order.size(); i-- > 0;) {
      const std::size_t d = order[i];
      const std::int64_t dim = expr_.dims[d];
      const std::string quotient = stride == 1 ? "e" : fmt::format("e / {}", stride);
      if (dim > 1 && used_.contains(expr_.indices[d])) {
        const bool outermost = stride * dim == expr_.elements();
        text +=
            fmt::format("  const Index {} = {};\n", symbols_.name(expr_.indices[d]),
                        outermost ? quotient : fmt::format("{} % {}", stride == 1 ? "e" : "(" + quotient + ")", dim));
      }
      stride *= dim;
    }
    return text;
  }

  void line(const std::string& text) { lines_ += std::string(2 * depth_, ' ') + text + "\n"; }

  /// Tracks whether all offsets fit 32 bits; else the kernel uses 64-bit indices.
  void track_range(std::int64_t number) { wide_ = wide_ || number > max_int32 || number < -max_int32; }
  void track_range(const Poly& poly) {
    const Range range = range_of(poly, expr_.extents, symbols_);
    track_range(range.low);
    track_range(range.high);
  }

  std::string number(std::int64_t value) { return track_range(value), "(Index)" + std::to_string(value); }

  std::string text(const Poly& poly) {
    track_range(poly);
    const auto remainder = find_remainder(poly, symbols_);
    if (remainder && range_of(remainder->dividend, expr_.extents, symbols_).low >= 0) {
      const std::string one = "(" + text(remainder->dividend) + ") % " + std::to_string(remainder->divisor);
      const std::string joined_text =
          remainder->factor == 1 ? one : std::to_string(remainder->factor) + " * (" + one + ")";
      track_range(remainder->factor * (remainder->divisor - 1));
      return remainder->rest.is_zero() ? joined_text : joined_text + " + " + text(remainder->rest);
    }
    std::string sum;
    for (const auto& term : poly.terms()) {
      track_range(Poly::from_terms({term}));
      std::string product;
      for (const Atom atom : term.monomial) product += (product.empty() ? "" : " * ") + text(atom);
      if (product.empty() || term.coefficient != 1)
        product = std::to_string(term.coefficient) + (product.empty() ? "" : " * " + product);
      track_range(term.coefficient);
      sum += (sum.empty() ? "" : " + ") + product;
    }
    return sum.empty() ? "0" : sum;
  }

  std::string text(Atom atom) {
    const Symbols::Kind kind = symbols_.kind(atom);
    if (kind == Symbols::Kind::Index) {
      used_.insert(atom);
      return symbols_.name(atom);
    }
    RM_CHECK(kind != Symbols::Kind::Size, "kernels have no symbolic sizes");
    const Poly &left = symbols_.left(atom), &right = symbols_.right(atom);
    const std::string a = text(left), b = text(right);
    if (kind == Symbols::Kind::FloorDiv && range_of(left, expr_.extents, symbols_).low >= 0 &&
        range_of(right, expr_.extents, symbols_).low > 0)
      return "((" + a + ") / (" + b + "))";
    const char* name = kind == Symbols::Kind::FloorDiv ? "floor_quotient"
                       : kind == Symbols::Kind::Min    ? "smaller"
                                                       : "larger";
    return fmt::format("{}<Index>({}, {})", name, a, b);
  }

  std::string condition(const std::vector<Guard>& guards) {
    std::string joined_text;
    for (const Guard& guard : guards) {
      const char* relation = guard.relation == algebra::Relation::Eq   ? "=="
                             : guard.relation == algebra::Relation::Ne ? "!="
                             : guard.relation == algebra::Relation::Lt ? "<"
                                                                       : "<=";
      joined_text += (joined_text.empty() ? "" : " && ") + text(guard.value) + " " + relation + " 0";
    }
    return joined_text;
  }

  std::string value(const ElementExpr& element) {
    switch (element.kind) {
      case Kind::Constant:
        return literal(element.value);
      case Kind::InverseSize:
        return "(1.0f / (float)(" + text(element.indices[0]) + "))";
      case Kind::Read:
        return read(element);
      case Kind::Add:
      case Kind::Mul:
        return "(" + joined(element, element.kind == Kind::Add ? " + " : " * ") + ")";
      case Kind::Apply:
        functions_.insert(element.function);
        return function_name(library_[element.function]) + "(" + joined(element, ", ") + ")";
      case Kind::Case:
        return choice(element);
      default:
        return reduction(element);
    }
  }

  std::string joined(const ElementExpr& element, const char* separator) {
    std::string joined_text;
    for (const auto& operand : element.operands)
      joined_text += (joined_text.empty() ? "" : separator) + value(*operand);
    return joined_text;
  }

  std::string read(const ElementExpr& element) {
    const auto parameter = std::ranges::find(reads_, element.tensor) - reads_.begin();
    if (parameter == std::ssize(reads_)) reads_.push_back(element.tensor);
    const auto& dims = dims_[element.tensor];
    std::string checks;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const Range range = range_of(element.indices[d], expr_.extents, symbols_);
      const std::string index = text(element.indices[d]);
      if (range.low < 0) checks += (checks.empty() ? "" : " && ") + index + " >= 0";
      if (range.high >= dims[d]) checks += (checks.empty() ? "" : " && ") + index + " < " + std::to_string(dims[d]);
      track_range(dims[d]);
    }
    const Poly at = linear_offset(element.indices, dims,
                                  layouts_.reads.empty() ? Layout::RowMajor : layouts_.reads[element.tensor]);
    const bool own = checks.empty() && at == own_offset(expr_, layouts_.out);
    const std::string found = fmt::format("t{}[{}]", parameter, own ? "e" : text(at));
    return checks.empty() ? found : "(" + checks + " ? " + found + " : 0.0f)";
  }

  std::string choice(const ElementExpr& element) {
    const std::string name = new_variable();
    line("float " + name + ";");
    line("if (" + condition(element.guard) + ") {");
    for (const std::size_t side : {0, 1}) {
      if (side == 1) line("} else {");
      ++depth_;
      line(name + " = " + value(*element.operands[side]) + ";");
      --depth_;
    }
    line("}");
    return name;
  }

  std::string reduction(const ElementExpr& element) {
    const std::string name = new_variable();
    const bool largest = element.kind == Kind::Max, guarded = !element.guard.empty();
    line("float " + name + (largest ? " = -infinity();" : " = 0.0f;"));
    if (largest && guarded) line("bool any_" + name + " = false;");
    for (const Atom index : element.bound) {
      const std::string each = symbols_.name(index);
      line(fmt::format("for (Index {0} = 0; {0} < {1}; ++{0}) {{", each, number(expr_.extents.at(index))));
      ++depth_;
    }
    if (guarded) {
      line("if (" + condition(element.guard) + ") {");
      ++depth_;
    }
    const std::string one = value(*element.operands[0]);
    line(largest ? fmt::format("{0} = largest({0}, {1});", name, one) : name + " += " + one + ";");
    if (largest && guarded) line("any_" + name + " = true;");
    for (std::size_t depth = element.bound.size() + (guarded ? 1 : 0); depth-- > 0;) {
      --depth_;
      line("}");
    }
    return largest && guarded ? fmt::format("(any_{0} ? {0} : 0.0f)", name) : name;
  }

  std::string new_variable() { return "v" + std::to_string(values_++); }

  static constexpr std::int64_t max_int32 = (std::int64_t{1} << 31) - 1;

  const TensorExpr& expr_;
  std::span<const std::vector<std::int64_t>> dims_;
  std::span<const Function> library_;
  const Symbols& symbols_;
  const KernelLayouts& layouts_;
  std::string lines_;
  std::size_t depth_ = 1, values_ = 0;
  bool wide_ = false;
  std::vector<std::uint32_t> reads_;
  std::set<std::uint32_t> functions_;
  std::set<Atom> used_;
};

}  // namespace

Kernel make_kernel(const TensorExpr& expr, std::span<const std::vector<std::int64_t>> dims,
                   std::span<const Function> functions, const Symbols& symbols, const KernelLayouts& layouts) {
  return KernelWriter(expr, dims, functions, symbols, layouts).run();
}

std::string translation_unit(std::span<const Kernel> kernels, std::span<const Function> functions) {
  std::set<std::uint32_t> used_functions;
  for (const Kernel& kernel : kernels) used_functions.insert(kernel.functions.begin(), kernel.functions.end());
  std::string text = prelude;
  for (const std::uint32_t function : used_functions) text += source_of(functions[function]);
  std::set<std::string> written;
  for (const Kernel& kernel : kernels) {
    if (written.insert(kernel.name).second) text += kernel.source;
  }
  return text;
}

}  // namespace rulemill::optimize::gpu
