// BitNet's packed matrices as palettes of two bits.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/mil/derived_source.h"
#include "pippin/nn/packed_weights.h"
#include "pippin/nn/weight_source.h"

namespace pippin::nn {
namespace {

constexpr int64_t kPerByte = 4;

// The codes of a matrix row after row, four to a byte, the first one lowest.
class TernaryCodes : public mil::DerivedSource {
 public:
  TernaryCodes(std::shared_ptr<const Checkpoint> checkpoint, const TensorInfo& tensor)
      : checkpoint_(std::move(checkpoint)),
        tensor_(tensor),
        rows_(static_cast<uint64_t>(tensor.shape[0])),
        columns_(static_cast<uint64_t>(tensor.shape[1])) {}

  uint64_t size() const override { return rows_ * columns_; }

  void read(uint64_t offset, MutableByteSpan out) const override {
    for (size_t i = 0; i < out.size(); ++i) {
      unsigned byte = 0;
      for (uint64_t j = 0; j < kPerByte; ++j) byte |= code((offset + i) * kPerByte + j) << (2 * j);
      out[i] = static_cast<std::byte>(byte);
    }
  }

  bool describe(mil::Recipe& recipe) const override {
    recipe.step("ternary").number(static_cast<int64_t>(columns_)).bytes(tensor_.bytes);
    return true;
  }
  void release() const noexcept override { checkpoint_->file_of(tensor_.name).release(tensor_); }

 private:
  unsigned code(uint64_t element) const {
    const uint64_t row = element / columns_, column = element % columns_;
    const auto byte = static_cast<unsigned>(tensor_.bytes[row % rows_ * columns_ + column]);
    return (byte >> (2 * (row / rows_))) & 3u;
  }

  std::shared_ptr<const Checkpoint> checkpoint_;
  const TensorInfo& tensor_;
  uint64_t rows_, columns_;  // of bytes
};

class TernaryWeights : public PackedWeights {
 public:
  explicit TernaryWeights(bool divides) : divides_(divides) {}

  std::vector<std::string> tensors(const Checkpoint& checkpoint,
                                   const std::string& name) const override {
    const TensorInfo* tensor = checkpoint.find(name);
    if (tensor == nullptr || tensor->dtype != Dtype::U8) return {};
    return {name, scale_of(name)};
  }

  array::Array matrix(const std::shared_ptr<const Checkpoint>& checkpoint, const std::string& name,
                      const std::vector<int64_t>& dims, mil::DataType type) const override {
    const int64_t out = dims.at(0);
    if (out % kPerByte != 0) {
      fail(ErrorCode::InvalidFile, "tensor '{}' packs {} rows in a byte, the model has {}", name,
           kPerByte, out);
    }
    const TensorInfo& codes = tensor(*checkpoint, name, {out / kPerByte, dims.at(1)});
    const double scale = scale_value(checkpoint, scale_of(name));
    const array::Array indices = array::weight(name + ".codes", mil::DataType::UInt2, dims,
                                               std::make_shared<TernaryCodes>(checkpoint, codes));
    const std::array<double, 4> values = {-scale, 0, scale, 2 * scale};
    const array::Array lut = array::constant(type, {1, 1, 4, 1}, values, name + ".lut");
    return array::named(
        array::record_one("constexpr_lut_to_dense", {{"indices", indices}, {"lut", lut}}), name);
  }

 private:
  static std::string scale_of(const std::string& name) { return name + "_scale"; }

  static const TensorInfo& tensor(const Checkpoint& checkpoint, const std::string& name,
                                  const std::vector<int64_t>& dims) {
    const TensorInfo* found = checkpoint.find(name);
    const std::string file = checkpoint.path().filename().string();
    if (found == nullptr) {
      fail(ErrorCode::NotFound, "{}: tensor '{}' of shape [{}] is missing", file, name,
           fmt::join(dims, ", "));
    }
    if (found->shape != dims) {
      fail(ErrorCode::InvalidFile, "{}: tensor '{}' has shape [{}], the configuration needs [{}]",
           file, name, fmt::join(found->shape, ", "), fmt::join(dims, ", "));
    }
    return *found;
  }

  double scale_value(const std::shared_ptr<const Checkpoint>& checkpoint,
                     const std::string& name) const {
    const TensorInfo& scale = tensor(*checkpoint, name, {1});
    const mil::DataType type = weight_type(scale);
    const double value = mil::Value::of_source(mil::ValueType::tensor(type, {1}),
                                               weight_source(checkpoint, name, type))
                             .to_doubles()
                             .at(0);
    if (divides_ && value == 0) fail(ErrorCode::InvalidFile, "tensor '{}' divides by 0", name);
    return divides_ ? 1 / value : value;
  }

  bool divides_;
};

}  // namespace

std::shared_ptr<const PackedWeights> ternary_weights(bool divides) {
  return std::make_shared<TernaryWeights>(divides);
}

}  // namespace pippin::nn
