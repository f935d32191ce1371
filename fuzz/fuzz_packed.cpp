// A checkpoint's packed matrices in any form: one byte for the form, one for each size, then a
// safetensors file.
#include <vector>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/files/temporary_folder.h"
#include "pippin/nn/weights/packed_forms.h"
#include "pippin/nn/weights/packed_weights.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  if (size < 3) return 0;
  static const TemporaryFolder folder("fuzz");
  static const std::vector<nn::PackedWeightsPtr> forms = {
      nn::gptq_weights({}),   nn::awq_weights(),          nn::mlx_weights(),
      nn::scaled_weights({}), nn::bitsandbytes_weights(), nn::ternary_weights(true)};
  const nn::PackedWeights& form = *forms[data[0] % forms.size()];
  const int64_t rows = 1 + data[1], columns = 1 + data[2];
  try {
    const auto path = folder / "model.safetensors";
    write_file(path, {reinterpret_cast<const char*>(data) + 3, size - 3});
    const auto checkpoint = std::make_shared<const Checkpoint>(Checkpoint::open(path));
    if (form.tensors(*checkpoint, "a.weight").empty()) return 0;
    const nn::PackedPtr matrix = form.matrix(checkpoint, "a.weight", rows, columns);
    nn::packed_error(*matrix, rows);
    const auto values = nn::packed_elements(matrix, mil::DataType::Float32);
    std::vector<std::byte> bytes(static_cast<size_t>(values->size()));
    values->read(0, bytes);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Internal) __builtin_trap();
  }
  return 0;
}
