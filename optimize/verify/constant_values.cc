#include "optimize/verify/constant_values.h"

#include "optimize/onnx/inputs/npz.h"
#include "optimize/verify/onnxruntime.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/scratch_folder.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {

std::optional<std::vector<InputTensor>> constant_values(const OnnxModel& model, const std::vector<std::string>& command,
                                                        double timeout) {
  const runtime::ScratchFolder folder;
  const std::filesystem::path file = folder / "constants.onnx", archive = folder / "constants.npz";
  try {
    model.write(file);
    OnnxruntimeProcess process(command, model_bytes_on_disk(file), "onnxruntime");
    const auto answer = process.answer({{"constants", file.string()}, {"archive", archive.string()}}, timeout);
    if (!answer || !answer->contains("values")) return std::nullopt;
    auto arrays = parse_npz(runtime::read_file(archive), archive.string());
    std::vector<InputTensor> tensors;
    while (true) {
      const auto found = arrays.find("value" + std::to_string(tensors.size()));
      if (found == arrays.end()) break;
      tensors.push_back(std::move(found->second));
    }
    return answer->at("values") == tensors.size() ? std::optional(std::move(tensors)) : std::nullopt;
  } catch (const runtime::Json::exception&) {
    return std::nullopt;
  } catch (const runtime::Interrupted&) {
    throw;
  } catch (const runtime::Error&) {
    return std::nullopt;
  }
}

}  // namespace rulemill::optimize
