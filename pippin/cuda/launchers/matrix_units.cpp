// Int4 and Int8: integers with scales, of a package or from ggml's blocks.
#include <cstring>
#include <vector>

#include "pippin/base/numbers/checked.h"
#include "pippin/base/numbers/float16.h"
#include "pippin/cuda/launchers/device_matrix.h"
#include "pippin/kernels/ggml_blocks/ggml_blocks.h"

namespace pippin::cuda {
namespace {

using kernels::OffsetType;
using kernels::QuantizedMatrix;

float offset_at(const QuantizedMatrix& w, int64_t block) {
  const auto* bytes = static_cast<const uint8_t*>(w.offsets);
  const auto nibble = [&] { return bytes[block / 2] >> (block % 2 * 4) & 15; };
  switch (w.offset_type) {
    case OffsetType::None:
      return 0;
    case OffsetType::F32:
      return kernels::stored_number(w.offsets, kernels::WeightType::F32, block);
    case OffsetType::F16:
      return kernels::stored_number(w.offsets, kernels::WeightType::F16, block);
    case OffsetType::BF16:
      return kernels::stored_number(w.offsets, kernels::WeightType::BF16, block);
    case OffsetType::I8:
      return static_cast<float>(static_cast<int8_t>(bytes[block]));
    case OffsetType::U8:
      return bytes[block];
    case OffsetType::I4:
      return static_cast<float>((nibble() ^ 8) - 8);
    case OffsetType::U4:
      return static_cast<float>(nibble());
  }
  return 0;
}

// One row of a weight: codes as bytes, and a scale and an offset for each block.
class UnpackedRow {
 public:
  explicit UnpackedRow(const MatrixSource& source) : source_(source), w_(source.matrix) {
    codes_.resize(static_cast<size_t>(w_.k));
    if (!source.weight.blocks) return;
    scales_.resize(static_cast<size_t>(w_.blocks_per_row));
    offsets_.resize(scales_.size());
  }

  // What is subtracted from the codes.
  static int center_of(const MatrixSource& source) {
    const auto& blocks = source.weight.blocks;
    if (source.matrix.is_signed) return 0;
    return 1 << ((blocks ? kernels::ggml_form(blocks->type).code_bits : source.matrix.bits) - 1);
  }

  // For the numbers below.
  void read(int64_t row) {
    row_ = row;
    if (!source_.weight.blocks) return;
    const kernels::GgmlMatrix& blocks = *source_.weight.blocks;
    const kernels::GgmlForm& form = kernels::ggml_form(blocks.type);
    kernels::choose_blocks(source_.cpu)
        .unpack(form.type,
                {kernels::row_of(blocks, row), blocks.k / form.columns, nullptr, codes_.data(),
                 scales_.data(), form.has_offsets ? offsets_.data() : nullptr});
  }
  // All codes of the row, as stored.
  const uint8_t* codes() {
    if (source_.weight.blocks) return codes_.data();
    const int64_t first = w_.first + row_ * w_.k;
    if (w_.bits == 8) return w_.codes + first;
    for (int64_t j = 0; j < w_.k; ++j) {
      codes_[static_cast<size_t>(j)] =
          static_cast<uint8_t>(w_.codes[(first + j) / 2] >> ((first + j) % 2 * 4) & 15);
    }
    return codes_.data();
  }
  float scale(int64_t j) const {
    return source_.weight.blocks ? scales_[static_cast<size_t>(j / w_.block_columns)]
                                 : kernels::stored_number(w_.scales, w_.scale_type, block(j));
  }
  float offset(int64_t j) const {
    return source_.weight.blocks ? offsets_[static_cast<size_t>(j / w_.block_columns)]
                                 : offset_at(w_, block(j));
  }

 private:
  int64_t block(int64_t j) const {
    return w_.first_block + row_ / w_.block_rows * w_.blocks_per_row + j / w_.block_columns;
  }

  const MatrixSource& source_;
  const QuantizedMatrix& w_;
  int64_t row_ = 0;
  std::vector<uint8_t> codes_;
  std::vector<float> scales_, offsets_;
};

// Codes minus `center`, which a bit of the code stands for, in two's complement.
void pack_nibbles(const uint8_t* codes, int64_t k, int center, std::byte* to) {
  const auto nibble = [&](int64_t j) { return (codes[j] ^ center) & 15; };
  for (int64_t b = 0; b < k / 2; ++b) {
    to[b] = static_cast<std::byte>(nibble(2 * b) | nibble(2 * b + 1) << 4);
  }
  if (k % 2 != 0) to[k / 2] = static_cast<std::byte>(nibble(k - 1));
}
// The even columns, then the odd ones.
void part_bytes(const uint8_t* codes, int64_t k, int center, std::byte* even, std::byte* odd) {
  for (int64_t b = 0; b < k / 2; ++b) {
    even[b] = static_cast<std::byte>(codes[2 * b] ^ center);
    odd[b] = static_cast<std::byte>(codes[2 * b + 1] ^ center);
  }
  if (k % 2 != 0) even[k / 2] = static_cast<std::byte>(codes[k - 1] ^ center);
}

void put_number(std::byte* to, int64_t i, float number, bool is_float) {
  if (is_float) {
    std::memcpy(to + 4 * i, &number, 4);
  } else {
    const float16 half = to_float16(number);
    std::memcpy(to + 2 * i, &half.bits, 2);
  }
}

}  // namespace

void upload_units(DeviceMatrix& to, const MatrixSource& source, WeightStore& store) {
  const QuantizedMatrix& w = source.matrix;
  const bool is_small = to.form == MatrixForm::Int4;
  const int64_t units = ceil_div<int64_t>(w.k, 32);
  to.row_bytes = units * (is_small ? 16 : 32);
  UnpackedRow row(source);
  const int center = UnpackedRow::center_of(source);
  // Nibbles in the package's order.
  const bool as_stored = is_small && !source.weight.blocks && w.k % 32 == 0 && w.first % 2 == 0;
  to.rows = upload_rows(
      source, store, is_small ? "int4" : "int8", w.n, to.row_bytes, [&](int64_t i, std::byte* out) {
        if (as_stored) {
          std::memcpy(out, w.codes + (w.first + i * w.k) / 2, static_cast<size_t>(w.k / 2));
          if (w.is_signed) return;
          for (int64_t b = 0; b < w.k / 2; ++b) out[b] ^= std::byte{0x88};
          return;
        }
        row.read(i);
        std::memset(out, 0, static_cast<size_t>(to.row_bytes));
        const uint8_t* const codes = row.codes();
        if (is_small) {
          pack_nibbles(codes, w.k, center, out);
        } else {
          part_bytes(codes, w.k, center, out, out + units * 16);
        }
      });
  const int64_t columns = int64_t{8} << to.numbers.group_shift, count = ceil_div(w.k, columns);
  const bool is_float = to.numbers.is_float;
  const int64_t number_bytes = int64_t{to.numbers.per_row} * (is_float ? 4 : 2);
  const auto middle = static_cast<float>(center);
  const std::string_view scales = is_float ? "fp32 scales" : "fp16 scales";
  const std::string_view shifts = is_float ? "fp32 shifts" : "fp16 shifts";
  to.scales = upload_rows(source, store, scales, w.n, number_bytes, [&](int64_t i, std::byte* out) {
    row.read(i);
    std::memset(out, 0, static_cast<size_t>(number_bytes));
    for (int64_t g = 0; g < count; ++g) put_number(out, g, row.scale(g * columns), is_float);
  });
  if (!to.numbers.has_shifts) return;
  to.shifts = upload_rows(source, store, shifts, w.n, number_bytes, [&](int64_t i, std::byte* out) {
    row.read(i);
    std::memset(out, 0, static_cast<size_t>(number_bytes));
    for (int64_t g = 0; g < count; ++g) {
      const float scale = row.scale(g * columns), offset = row.offset(g * columns);
      const float shift = !is_float          ? middle - offset
                          : w.scaled_offsets ? middle * scale - offset
                                             : (middle - offset) * scale;
      put_number(out, g, shift, is_float);
    }
  });
}

}  // namespace pippin::cuda
