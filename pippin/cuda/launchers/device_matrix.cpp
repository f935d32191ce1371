#include "pippin/cuda/launchers/device_matrix.h"

#include <algorithm>

#include <fmt/format.h>

#include "pippin/base/numbers/checked.h"

namespace pippin::cuda {
namespace {

using kernels::GgmlType;
using kernels::OffsetType;
using kernels::QuantizedMatrix;
using kernels::WeightType;

// Types whose scale is an fp16 number of the file.
bool has_half_scales(GgmlType type) {
  return type == GgmlType::Q80 || type == GgmlType::Q40 || type == GgmlType::Q50 ||
         type == GgmlType::Iq4Nl;
}

bool are_integers(OffsetType type) {
  return type != OffsetType::F32 && type != OffsetType::F16 && type != OffsetType::BF16;
}

// The 2-logarithm of the groups that share a number; -1: blocks are not made of groups.
int group_shift(const QuantizedMatrix& w) {
  if (w.blocks_per_row == 1 || w.block_columns % 32 == 0) return 2;
  if (w.block_columns % 16 == 0) return 1;
  return w.block_columns % 8 == 0 ? 0 : -1;
}

bool keeps_palettes(const QuantizedMatrix& w) {
  if (w.blocks_per_row != 1) return false;
  const int64_t entries = w.bits <= 4 ? 16 : 256, tables = ceil_div(w.n, w.block_rows);
  return tables * entries * 4 <= std::max<int64_t>(w.n * w.k, 4096) * (w.bits <= 4 ? 1 : 2) / 4;
}

}  // namespace

bool MatrixFacts::same_kernel(const MatrixFacts& other) const {
  return form == other.form && numbers.per_row == other.numbers.per_row &&
         numbers.group_shift == other.numbers.group_shift &&
         numbers.table_rows == other.numbers.table_rows &&
         numbers.is_float == other.numbers.is_float &&
         numbers.has_shifts == other.numbers.has_shifts;
}

void DeviceMatrix::describe(DotProduct& product) const {
  const auto address = [](const UploadedBytes& bytes) {
    return bytes != nullptr ? reinterpret_cast<const unsigned char*>(bytes->data) : nullptr;
  };
  product.rows = address(rows);
  product.scales = address(scales);
  product.shifts = address(shifts);
  product.row_bytes = row_bytes;
  product.n = static_cast<int32_t>(n);
}

int64_t DeviceMatrix::bytes() const {
  uint64_t sum = 0;
  for (const auto* part : {&rows, &scales, &shifts}) sum += *part != nullptr ? (*part)->size : 0;
  return static_cast<int64_t>(sum);
}

MatrixFacts matrix_facts(const MatrixSource& source) {
  const QuantizedMatrix& w = source.matrix;
  MatrixFacts facts;
  if (w.palettes != nullptr) {
    if (keeps_palettes(w)) {
      facts.form = w.bits <= 4 ? MatrixForm::Palette4 : MatrixForm::Palette8;
      facts.numbers.table_rows = static_cast<int32_t>(w.block_rows);
    } else {
      facts.form = w.palette_type == WeightType::F16    ? MatrixForm::F16
                   : w.palette_type == WeightType::BF16 ? MatrixForm::BF16
                                                        : MatrixForm::F32;
    }
    return facts;
  }
  const auto& blocks = source.weight.blocks;
  const int bits = blocks ? kernels::ggml_form(blocks->type).code_bits : w.bits;
  facts.numbers.group_shift = group_shift(w);
  if (facts.numbers.group_shift < 0) {
    facts = {};
    facts.form = MatrixForm::F32;  // fp16 would round the values
    return facts;
  }
  facts.form = bits == 4 ? MatrixForm::Int4 : MatrixForm::Int8;
  // Rows of numbers are aligned to 16 bytes.
  facts.numbers.per_row = static_cast<int32_t>(
      align_up<int64_t>(ceil_div(w.k, int64_t{8} << facts.numbers.group_shift), 8));
  facts.numbers.has_shifts = w.offset_type != OffsetType::None || !w.is_signed;
  facts.numbers.is_float =
      blocks ? !has_half_scales(blocks->type)
             : w.scale_type != WeightType::F16 || w.scaled_offsets || !are_integers(w.offset_type);
  return facts;
}

DeviceMatrix upload_matrix(const MatrixSource& source, WeightStore& store) {
  DeviceMatrix to;
  static_cast<MatrixFacts&>(to) = matrix_facts(source);
  to.n = source.matrix.n;
  to.k = source.matrix.k;
  switch (to.form) {
    case MatrixForm::Int4:
    case MatrixForm::Int8:
      upload_units(to, source, store);
      break;
    case MatrixForm::Palette4:
    case MatrixForm::Palette8:
      upload_palettes(to, source, store);
      break;
    default:
      upload_expanded(to, source, store);
  }
  return to;
}

UploadedBytes upload_rows(const MatrixSource& source, WeightStore& store, std::string_view what,
                          int64_t rows, int64_t row_bytes,
                          const std::function<void(int64_t row, std::byte* to)>& fill) {
  const QuantizedMatrix& w = source.matrix;
  if (rows * row_bytes == 0) return nullptr;
  // The same bytes may hold several weights.
  const std::string form =
      fmt::format("{} {}x{} at {}, {}, of {} bits, blocks of {}x{}", what, w.n, w.k, w.first,
                  w.first_block, w.bits, w.block_rows, w.block_columns);
  const auto each = static_cast<uint64_t>(row_bytes);
  return store.upload(w.codes, form, static_cast<uint64_t>(rows) * each, each,
                      [&](std::byte* to, uint64_t begin, uint64_t end) {
                        for (uint64_t at = begin; at < end; at += each, to += each) {
                          fill(static_cast<int64_t>(at / each), to);
                        }
                      });
}

}  // namespace pippin::cuda
