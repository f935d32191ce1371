// A matrix that a checkpoint stores in few bits, in the order of its file: small codes, and for
// each group of columns of a row the numbers that give codes their values.
// nn/weights/packed_forms.h describes its form in a program.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "pippin/mil/data_type.h"
#include "pippin/mil/derived_source.h"

namespace pippin::nn {

// The parts of a matrix. Without a palette, `shift` gives the value of a code:
//   None       code * scale
//   Integers   (code - shift) * scale, the shifts integers of the codes' type
//   Floats     (code - shift) * scale
//   Bias       code * scale + shift
// with one palette[code] * scale.
struct PackedLayout {
  enum class Shift : uint8_t { None, Integers, Floats, Bias };
  int64_t rows = 0, columns = 0;
  int bits = 4;  // of a code: 4 or 8; with a palette 1, 2, 3, 4, 6 or 8
  bool is_signed = false;
  Shift shift = Shift::None;
  int64_t group = 0;      // columns that share a scale; the last group of a row may be smaller
  int64_t row_group = 1;  // rows that share their scales; the last group may be smaller
  std::vector<float> palette = {};  // of 2^bits numbers; empty: none
  // Column i of the matrix is multiplied by input order[i] of the layer; empty: input i.
  std::vector<int64_t> order = {};

  int64_t groups() const { return (columns + group - 1) / group; }
};

class PackedMatrix {
 public:
  explicit PackedMatrix(PackedLayout layout) : layout_(std::move(layout)) {}
  PackedMatrix(const PackedMatrix&) = delete;
  PackedMatrix& operator=(const PackedMatrix&) = delete;
  virtual ~PackedMatrix() = default;

  const PackedLayout& layout() const { return layout_; }

  // The codes of a row, one per byte; signed ones as two's complement.
  virtual void codes(int64_t row, std::span<uint8_t> out) const = 0;
  // Its scales, and its shifts if any (else `shifts` is empty).
  virtual void scales(int64_t row, std::span<float> scales, std::span<float> shifts) const = 0;
  // Like mil::DerivedSource's.
  virtual bool describe(mil::Recipe& recipe) const = 0;
  virtual void release() const noexcept {}
  // The codes of all rows in one stream, the first one lowest, if the file stores them so; else
  // nothing.
  virtual ByteSpan stream() const { return {}; }
  // The blocks that it consists of, if any; they live as long as the matrix.
  virtual const mil::StoredBlocks* blocks() const { return nullptr; }

 private:
  PackedLayout layout_;
};
using PackedPtr = std::shared_ptr<const PackedMatrix>;

// The values of a row, computed in fp32 by definition, in the columns' own order.
void packed_values(const PackedMatrix& matrix, int64_t row, std::span<float> out);

// The given rows in their order; the concatenated matrices, which must be alike (null: they are
// not).
PackedPtr packed_rows(PackedPtr matrix, const std::vector<int64_t>& rows);
PackedPtr packed_joined(std::vector<PackedPtr> parts);

}  // namespace pippin::nn
