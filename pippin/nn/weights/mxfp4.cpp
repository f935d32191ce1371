#include "pippin/nn/weights/mxfp4.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/base/numbers/float16.h"
#include "pippin/mil/derived_source.h"

namespace pippin::nn {
namespace {

constexpr int64_t kBlock = 32, kBlockBytes = 16;
// Twice the values of e2m1.
constexpr int8_t kDoubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Some rows of every matrix of a tensor of U8.
class TakenRows : public mil::DerivedSource {
 public:
  TakenRows(Parameters::Found found, const Mxfp4Rows& rows, const std::vector<int64_t>& dims,
            std::string_view step)
      : found_(std::move(found)),
        rows_(rows),
        count_(dims[1]),
        blocks_(dims[2] / kBlock),
        matrices_(dims[0]),
        step_(step) {}

  bool describe(mil::Recipe& recipe) const override {
    recipe.step(step_).number(rows_.stored).number(rows_.first).number(rows_.step);
    recipe.number(count_).number(blocks_).bytes(found_.tensor.bytes);
    return true;
  }
  void release() const noexcept override {
    found_.checkpoint->file_of(found_.tensor.name).release(found_.tensor);
  }

 protected:
  // The number, in the file, of a block counted here.
  uint64_t stored_block(uint64_t block) const {
    const auto per_row = static_cast<uint64_t>(blocks_), rows = static_cast<uint64_t>(count_);
    const uint64_t row = block / per_row, matrix = row / rows;
    const uint64_t stored = matrix * static_cast<uint64_t>(rows_.stored) +
                            static_cast<uint64_t>(rows_.first) +
                            row % rows * static_cast<uint64_t>(rows_.step);
    return stored * per_row + block % per_row;
  }
  uint64_t num_blocks() const { return static_cast<uint64_t>(matrices_ * count_ * blocks_); }
  unsigned byte_at(uint64_t offset) const {
    return static_cast<unsigned>(found_.tensor.bytes[offset]);
  }

 private:
  Parameters::Found found_;
  Mxfp4Rows rows_;
  int64_t count_, blocks_, matrices_;
  std::string step_;
};

class Mxfp4Codes : public TakenRows {
 public:
  Mxfp4Codes(Parameters::Found found, const Mxfp4Rows& rows, const std::vector<int64_t>& dims)
      : TakenRows(std::move(found), rows, dims, "mxfp4 codes") {}

  uint64_t size() const override { return num_blocks() * kBlock; }
  void read(uint64_t offset, MutableByteSpan out) const override {
    for (size_t i = 0; i < out.size(); ++i) {
      const uint64_t element = offset + i, inside = element % kBlock;
      const unsigned byte = byte_at(stored_block(element / kBlock) * kBlockBytes + inside / 2);
      out[i] = static_cast<std::byte>(kDoubled[(byte >> (4 * (inside % 2))) & 15u]);
    }
  }
};

class Mxfp4Scales : public TakenRows {
 public:
  Mxfp4Scales(Parameters::Found found, const Mxfp4Rows& rows, const std::vector<int64_t>& dims,
              mil::DataType type)
      : TakenRows(std::move(found), rows, dims,
                  type == mil::DataType::Float16 ? "mxfp4 scales, fp16" : "mxfp4 scales"),
        half_(type == mil::DataType::Float16) {}

  uint64_t size() const override { return num_blocks() * element(); }
  void read(uint64_t offset, MutableByteSpan out) const override {
    for (size_t i = 0; i < out.size(); ++i) {
      const uint64_t at = offset + i;
      const unsigned code = byte_at(stored_block(at / element()));
      const float scale = code == 255 ? std::numeric_limits<float>::quiet_NaN()
                                      : std::ldexp(1.0f, static_cast<int>(code) - 128);
      std::byte bytes[4];
      const float16 half = to_float16(scale);
      if (half_) {
        std::memcpy(bytes, &half, sizeof(half));
      } else {
        std::memcpy(bytes, &scale, sizeof(scale));
      }
      out[i] = bytes[at % element()];
    }
  }

 private:
  uint64_t element() const { return half_ ? 2 : 4; }
  bool half_;
};

}  // namespace

array::Array mxfp4_matrices(const Parameters& parameters, const std::string& name,
                            const Mxfp4Rows& rows, const std::vector<int64_t>& dims) {
  return parameters.made(name, dims, [&](const std::string& full) {
    const int64_t blocks = dims[2] / kBlock;
    if (dims[2] % kBlock != 0) {
      fail(ErrorCode::InvalidFile, "tensor '{}': MXFP4 has blocks of {} numbers, a row has {}",
           parameters.path() + "." + rows.tensor + "_blocks", kBlock, dims[2]);
    }
    const auto checked = [&](const std::string& tensor, const std::vector<int64_t>& shape) {
      Parameters::Found found = parameters.tensor(tensor, shape);
      if (found.tensor.dtype != Dtype::U8) {
        fail(ErrorCode::InvalidFile, "tensor '{}' has type {}, MXFP4 needs U8", found.tensor.name,
             to_string(found.tensor.dtype));
      }
      return found;
    };
    const auto codes =
        checked(rows.tensor + "_blocks", {dims[0], rows.stored, blocks, kBlockBytes});
    const auto scales = checked(rows.tensor + "_scales", {dims[0], rows.stored, blocks});
    const mil::DataType type = parameters.type();
    const array::Array data = array::weight(full + ".codes", mil::DataType::Int8, dims,
                                            std::make_shared<Mxfp4Codes>(codes, rows, dims));
    const array::Array scale =
        array::weight(full + ".scale", type, {dims[0], dims[1], blocks},
                      std::make_shared<Mxfp4Scales>(scales, rows, dims, type));
    return array::named(
        array::record_one("constexpr_blockwise_shift_scale", {{"data", data}, {"scale", scale}}),
        full);
  });
}

}  // namespace pippin::nn
