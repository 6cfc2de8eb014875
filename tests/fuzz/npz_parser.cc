// NumPy archives of a model's inputs.
#include "optimize/onnx/inputs/npz.h"
#include "tests/fuzz/parser.h"

namespace rulemill::fuzz {
namespace {

void read_archive(runtime::ByteView bytes) {
  for (const auto& [name, tensor] : optimize::parse_npz(runtime::text_of(bytes), "fuzzed.npz"))
    optimize::serialize_npy(tensor);
}

}  // namespace

void add_npz_parser(std::vector<Parser>& parsers) {
  parsers.push_back({"npz", "fuzzed.npz", read_archive, "", nullptr, {"fortran_order", "'shape': (", "<f4", "PK"}, {}});
}

}  // namespace rulemill::fuzz
