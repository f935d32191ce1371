// Palettes, and weights that are expanded to floats.
#include <cstring>
#include <vector>

#include "pippin/base/numbers/checked.h"
#include "pippin/base/numbers/float16.h"
#include "pippin/cuda/launchers/device_matrix.h"
#include "pippin/engine/weights/block_rows.h"

namespace pippin::cuda {
namespace {

using kernels::QuantizedMatrix;

int palette_code(const QuantizedMatrix& w, int64_t index) {
  const int64_t bit = index * w.bits;
  int window = w.codes[bit / 8];
  if (bit % 8 + w.bits > 8) window |= w.codes[bit / 8 + 1] << 8;
  return window >> (bit % 8) & ((1 << w.bits) - 1);
}

}  // namespace

void upload_palettes(DeviceMatrix& to, const MatrixSource& source, WeightStore& store) {
  const QuantizedMatrix& w = source.matrix;
  const bool is_small = to.form == MatrixForm::Palette4;
  to.row_bytes = is_small ? ceil_div<int64_t>(w.k, 32) * 16 : align_up<int64_t>(w.k, 16);
  to.rows = upload_rows(source, store, is_small ? "codes of 4 bits" : "codes of 8 bits", w.n,
                        to.row_bytes, [&](int64_t i, std::byte* out) {
                          std::memset(out, 0, static_cast<size_t>(to.row_bytes));
                          for (int64_t j = 0; j < w.k; ++j) {
                            const auto code =
                                static_cast<std::byte>(palette_code(w, w.first + i * w.k + j));
                            if (is_small) {
                              out[j / 2] |= code << static_cast<int>(j % 2 * 4);
                            } else {
                              out[j] = code;
                            }
                          }
                        });
  const int64_t entries = is_small ? 16 : 256, tables = ceil_div(w.n, w.block_rows);
  to.scales = upload_rows(
      source, store, "palettes", tables, entries * 4, [&](int64_t table, std::byte* out) {
        const int64_t first = (w.first_block + table) << w.bits;
        for (int64_t i = 0; i < entries; ++i) {
          const float number = i < int64_t{1} << w.bits
                                   ? kernels::stored_number(w.palettes, w.palette_type, first + i)
                                   : 0.0F;
          std::memcpy(out + 4 * i, &number, 4);
        }
      });
}

void upload_expanded(DeviceMatrix& to, const MatrixSource& source, WeightStore& store) {
  const QuantizedMatrix& w = source.matrix;
  const bool is_float = to.form == MatrixForm::F32;
  to.row_bytes = align_up<int64_t>(w.k * (is_float ? 4 : 2), 16);
  const engine::WeightRows rows(source.cpu);
  std::vector<float> numbers(static_cast<size_t>(w.k));
  const std::string_view what = is_float ? "fp32" : to.form == MatrixForm::F16 ? "fp16" : "bf16";
  to.rows = upload_rows(source, store, what, w.n, to.row_bytes, [&](int64_t i, std::byte* out) {
    std::memset(out, 0, static_cast<size_t>(to.row_bytes));
    if (source.weight.blocks) {
      rows.expand(source.weight, i, 0, w.k, numbers.data());
    } else {
      rows.kernels().expand(w, i, 0, w.k, numbers.data());
    }
    if (is_float) {
      std::memcpy(out, numbers.data(), numbers.size() * 4);
      return;
    }
    for (int64_t j = 0; j < w.k; ++j) {
      const float number = numbers[static_cast<size_t>(j)];
      const uint16_t bits =
          to.form == MatrixForm::F16 ? to_float16(number).bits : to_bfloat16(number).bits;
      std::memcpy(out + 2 * j, &bits, 2);
    }
  });
}

}  // namespace pippin::cuda
