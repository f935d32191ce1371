#include "pippin/engine/weights/block_rows.h"

#include <algorithm>

#include "pippin/base/numbers/checked.h"

namespace pippin::engine {
namespace {

using kernels::GgmlForm;
using kernels::GgmlMatrix;
using kernels::QuantizedMatrix;

// Rows that are unpacked together: as many as a tile of the kernels has; fewer for few rows of
// activations, so that they stay in the first cache.
constexpr int64_t kManyRows = kernels::kQuantizedDotGrain, kFewRows = 8;

// The form of `rows` unpacked rows of k columns.
QuantizedMatrix unpacked_form(const GgmlForm& form, int64_t rows, int64_t k) {
  QuantizedMatrix matrix{};
  matrix.n = rows;
  matrix.k = k;
  matrix.bits = 8;
  matrix.is_signed = form.is_signed;
  matrix.block_rows = 1;
  matrix.block_columns = form.group;
  matrix.blocks_per_row = k / form.group;
  matrix.scale_type = kernels::WeightType::F32;
  matrix.offset_type = form.has_offsets ? kernels::OffsetType::F32 : kernels::OffsetType::None;
  matrix.scaled_offsets = form.has_offsets;
  return matrix;
}

// The parts of the memory of unpacked rows.
struct Parts {
  int64_t scales, offsets, total;
  Parts(const GgmlForm& form, int64_t rows, int64_t k) {
    const int64_t numbers = align_up<int64_t>(rows * (k / form.group) * 4, 64);
    scales = align_up<int64_t>(rows * k, 64);
    offsets = scales + numbers;
    total = offsets + (form.has_offsets ? numbers : 0);
  }
};

}  // namespace

std::shared_ptr<const QuantizedWeight> block_weight(const GgmlMatrix& blocks, mil::DataType type) {
  const GgmlForm& form = kernels::ggml_form(blocks.type);
  QuantizedWeight weight;
  weight.matrix = unpacked_form(form, blocks.n, blocks.k);
  weight.matrix.codes = blocks.bytes;
  weight.matrix.scales = blocks.bytes;  // there are scales, not palettes
  weight.type = type;
  weight.form = std::string(form.name);
  weight.bytes = blocks.n * kernels::row_bytes(blocks);
  weight.blocks = blocks;
  return std::make_shared<const QuantizedWeight>(std::move(weight));
}

WeightRows::WeightRows(const CpuFeatures& cpu)
    : kernels_(kernels::choose_quantized_dot(cpu)), blocks_(kernels::choose_blocks(cpu)) {}

void WeightRows::expand(const QuantizedWeight& weight, int64_t i, int64_t begin, int64_t end,
                        float* y) const noexcept {
  if (!weight.blocks) return kernels_.expand(weight.matrix, i, begin, end, y);
  constexpr int64_t kPiece = 256;  // columns: a multiple of every type's
  const GgmlForm& form = kernels::ggml_form(weight.blocks->type);
  uint8_t codes[kPiece];
  float scales[kPiece / 16], offsets[kPiece / 16];
  for (int64_t first = begin / kPiece * kPiece; first < end; first += kPiece) {
    const int64_t columns = std::min(kPiece, weight.matrix.k - first);
    const uint8_t* from = kernels::row_of(*weight.blocks, i) + first / form.columns * form.bytes;
    blocks_.unpack(form.type, {from, columns / form.columns, nullptr, codes, scales,
                               form.has_offsets ? offsets : nullptr});
    QuantizedMatrix piece = unpacked_form(form, 1, columns);
    piece.codes = codes;
    piece.scales = scales;
    piece.offsets = offsets;
    const int64_t from_column = std::max(begin, first), to = std::min(end, first + columns);
    kernels_.expand(piece, 0, from_column - first, to - first, y + from_column - begin);
  }
}

void WeightRows::dot(const QuantizedWeight& weight, const kernels::QuantizedDotArgs& args,
                     std::byte* memory) const noexcept {
  if (!weight.blocks) return kernels_.dot(args);
  const GgmlMatrix& blocks = *weight.blocks;
  const kernels::GgmlDotArgs row = {&blocks, args.x, args.bias, args.y, args.n_begin, args.n_end};
  if (args.x->m == 1 && blocks_.dot_row != nullptr && blocks_.dot_row(row)) return;
  const GgmlForm& form = kernels::ggml_form(blocks.type);
  const int64_t k = blocks.k, count = k / form.columns, groups = k / form.group;
  const int64_t together = args.x->m <= kernels_.few_rows ? kFewRows : kManyRows;
  const Parts parts(form, together, k);
  auto* codes = reinterpret_cast<uint8_t*>(memory);
  auto* scales = reinterpret_cast<float*>(memory + parts.scales);
  auto* offsets = form.has_offsets ? reinterpret_cast<float*>(memory + parts.offsets) : nullptr;
  for (int64_t n = args.n_begin; n < args.n_end; n += together) {
    const int64_t rows = std::min(together, args.n_end - n);
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t later = n + i + together;
      blocks_.unpack(form.type,
                     {kernels::row_of(blocks, n + i), count,
                      later < args.n_end ? kernels::row_of(blocks, later) : nullptr, codes + i * k,
                      scales + i * groups, offsets != nullptr ? offsets + i * groups : nullptr});
    }
    QuantizedMatrix tile = unpacked_form(form, rows, k);
    tile.codes = codes;
    tile.scales = scales;
    tile.offsets = offsets;
    kernels_.dot({&tile, args.x, args.bias != nullptr ? args.bias + n : nullptr, args.y + n,
                  args.y_stride, 0, rows, args.scratch});
  }
}

int64_t WeightRows::unpacked_bytes(const QuantizedWeight& weight) {
  if (!weight.blocks) return 0;
  return Parts(kernels::ggml_form(weight.blocks->type), kManyRows, weight.matrix.k).total;
}

}  // namespace pippin::engine
