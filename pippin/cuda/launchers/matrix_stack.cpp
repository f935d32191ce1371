// Matrices stacked in one weight.
#include <cstring>

#include <fmt/format.h>

#include "pippin/cuda/launchers/device_matrix.h"
#include "pippin/engine/weights/weight_stack.h"

namespace pippin::cuda {
namespace {

DeviceMatrix upload_dense(const engine::WeightStack& stack, const engine::DenseStack& dense,
                          WeightStore& store) {
  DeviceMatrix to;
  to.form = form_of(dense.storage);
  to.n = stack.count * stack.n;
  to.k = stack.k;
  to.row_bytes = stack.k * engine::element_size(dense.storage);
  const auto each = static_cast<uint64_t>(stack.n * to.row_bytes);
  if (each == 0) return to;
  to.rows = store.upload(
      dense.matrices.front(), fmt::format("{} matrices of {} bytes", stack.count, each),
      each * dense.matrices.size(), each, [&](std::byte* out, uint64_t begin, uint64_t end) {
        for (uint64_t at = begin; at < end; at += each, out += each) {
          std::memcpy(out, dense.matrices[at / each], each);
        }
      });
  return to;
}

}  // namespace

MatrixForm form_of(engine::Storage storage) {
  return storage == engine::Storage::F16    ? MatrixForm::F16
         : storage == engine::Storage::BF16 ? MatrixForm::BF16
                                            : MatrixForm::F32;
}

std::optional<DeviceMatrix> upload_stack(const engine::WeightStack& stack, const CpuFeatures& cpu,
                                         WeightStore& store) {
  if (const auto* dense = std::get_if<engine::DenseStack>(&stack.weight)) {
    return upload_dense(stack, *dense, store);
  }
  if (const auto* narrow = std::get_if<std::shared_ptr<const engine::E4M7Weight>>(&stack.weight)) {
    return upload_narrow(**narrow, store);
  }
  const auto* weight = std::get_if<std::shared_ptr<const engine::QuantizedWeight>>(&stack.weight);
  const auto matrix = engine::stacked_matrix(**weight, stack.count, stack.n, stack.k);
  if (!matrix) return std::nullopt;
  return upload_matrix(MatrixSource(**weight, *matrix, cpu), store);
}

}  // namespace pippin::cuda
