// Constant matrices on the device, in the forms that kernels read (cuda/kernels/dot_args.h).
//
// Compressed weights keep their bits if their blocks are whole rows or multiples of 8 columns:
// scales become one for each unit of 32 columns (16 or 8, if blocks are smaller). Others are
// expanded to floats.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "pippin/base/cpu_features.h"
#include "pippin/cuda/kernels/dot_args.h"
#include "pippin/cuda/launchers/weight_store.h"
#include "pippin/engine/nodes/dot.h"
#include "pippin/engine/weights/e4m7_weight.h"
#include "pippin/engine/weights/quantized_weight.h"

namespace pippin::cuda {

struct MatrixFacts {
  MatrixForm form{};
  MatrixNumbers numbers{};

  // Whether one kernel computes products with both.
  bool same_kernel(const MatrixFacts& other) const;
};

struct DeviceMatrix : MatrixFacts {
  int64_t n = 0, k = 0, row_bytes = 0;
  UploadedBytes rows, scales, shifts;

  // Sets what a product says of its matrix.
  void describe(DotProduct& product) const;
  int64_t bytes() const;
};

// A compressed weight, or several in one: `matrix` is that of the weight, or another view of its
// rows (engine/weights/weight_stack.h).
struct MatrixSource {
  const engine::QuantizedWeight& weight;
  const kernels::QuantizedMatrix& matrix;
  const CpuFeatures& cpu;

  explicit MatrixSource(const engine::QuantizedWeight& whole, const CpuFeatures& features)
      : weight(whole), matrix(whole.matrix), cpu(features) {}
  MatrixSource(const engine::QuantizedWeight& whole, const kernels::QuantizedMatrix& view,
               const CpuFeatures& features)
      : weight(whole), matrix(view), cpu(features) {}
};

// Stacked matrices as one, of count * n rows; nothing if no kernel reads them.
std::optional<DeviceMatrix> upload_stack(const engine::WeightStack& stack, const CpuFeatures& cpu,
                                         WeightStore& store);
// Of a view.
MatrixForm form_of(engine::Storage storage);

MatrixFacts matrix_facts(const MatrixSource& source);
DeviceMatrix upload_matrix(const MatrixSource& source, WeightStore& store);
// A weight of 12 bits.
DeviceMatrix upload_narrow(const engine::E4M7Weight& weight, WeightStore& store);

// The parts of upload_matrix(), by form.
void upload_units(DeviceMatrix& to, const MatrixSource& source, WeightStore& store);
void upload_palettes(DeviceMatrix& to, const MatrixSource& source, WeightStore& store);
void upload_expanded(DeviceMatrix& to, const MatrixSource& source, WeightStore& store);

// `rows` rows of row_bytes, filled one at a time.
UploadedBytes upload_rows(const MatrixSource& source, WeightStore& store, std::string_view what,
                          int64_t rows, int64_t row_bytes,
                          const std::function<void(int64_t row, std::byte* to)>& fill);

}  // namespace pippin::cuda
