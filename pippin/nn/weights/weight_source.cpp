#include "pippin/nn/weights/weight_source.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/base/numbers/float_convert.h"
#include "pippin/base/numbers/ranges.h"
#include "pippin/mil/derived_source.h"

namespace pippin::nn {
namespace {

class MappedWeight : public mil::TensorSource {
 public:
  MappedWeight(std::shared_ptr<const Checkpoint> checkpoint, const TensorInfo& tensor)
      : checkpoint_(std::move(checkpoint)), tensor_(tensor) {}

  uint64_t size() const override { return tensor_.bytes.size(); }
  ByteSpan view() const override { return tensor_.bytes; }
  void read(uint64_t offset, MutableByteSpan out) const override {
    const ByteSpan part = tensor_.bytes.subspan(offset, out.size());
    ranges::copy(part, out.begin());
  }
  void release() const noexcept override { checkpoint_->file_of(tensor_.name).release(tensor_); }

 private:
  std::shared_ptr<const Checkpoint> checkpoint_;
  const TensorInfo& tensor_;  // of the checkpoint
};

// Converts fp64, fp32, bf16 and fp16 to fp32 or fp16. Elements are converted in place, so that a
// reader may request any part; parts that begin or end inside an element are rare and use a buffer.
class ConvertedWeight : public mil::DerivedSource {
 public:
  ConvertedWeight(std::shared_ptr<const Checkpoint> checkpoint, const TensorInfo& tensor,
                  mil::DataType to)
      : checkpoint_(std::move(checkpoint)),
        tensor_(tensor),
        from_(tensor.dtype),
        to_(to),
        from_size_(static_cast<size_t>(bits(tensor.dtype)) / 8),
        to_size_(static_cast<size_t>(mil::bit_width(to)) / 8) {}

  uint64_t size() const override { return tensor_.bytes.size() / from_size_ * to_size_; }
  bool describe(mil::Recipe& recipe) const override {
    recipe.step("converted").number(static_cast<int64_t>(from_)).number(static_cast<int64_t>(to_));
    recipe.bytes(tensor_.bytes);
    return true;
  }

  void read(uint64_t offset, MutableByteSpan out) const override {
    while (!out.empty()) {
      const size_t inside = offset % to_size_;
      if (inside == 0 && out.size() >= to_size_) {
        const size_t count = out.size() / to_size_;
        convert(offset / to_size_, count, out.data());
        offset += count * to_size_;
        out = out.subspan(count * to_size_);
        continue;
      }
      std::array<std::byte, 8> element;
      convert(offset / to_size_, 1, element.data());
      const size_t taken = std::min(to_size_ - inside, out.size());
      std::memcpy(out.data(), element.data() + inside, taken);
      offset += taken;
      out = out.subspan(taken);
    }
  }

  void release() const noexcept override { checkpoint_->file_of(tensor_.name).release(tensor_); }

 private:
  void convert(uint64_t first, size_t count, std::byte* out) const {
    const std::byte* source = tensor_.bytes.subspan(first * from_size_, count * from_size_).data();
    bool overflow = false;
    if (from_ == Dtype::F64) {
      overflow = convert_doubles(source, out, count);
    } else if (to_ == mil::DataType::Float16 && from_ == Dtype::F32) {
      overflow = convert_f32_to_f16(source, out, count);
    } else if (to_ == mil::DataType::Float16) {
      overflow = convert_bf16_to_f16(source, out, count);
    } else if (from_ == Dtype::F16) {
      convert_f16_to_f32(source, out, count);
    } else {
      convert_bf16_to_f32(source, out, count);
    }
    if (overflow && !warned_.exchange(true)) {
      log_warn("{}: some values are beyond {} and become infinite", tensor_.name,
               to_ == mil::DataType::Float16 ? "fp16 (65504)" : "fp32");
    }
  }

  // Via fp32: weights published as fp64 were computed with less precision.
  bool convert_doubles(const std::byte* source, std::byte* out, size_t count) const {
    bool overflow = false;
    for (size_t i = 0; i < count; ++i) {
      double wide = 0;
      std::memcpy(&wide, source + i * sizeof(double), sizeof(double));
      const auto narrow = static_cast<float>(wide);
      overflow = overflow || (std::isinf(narrow) && !std::isinf(wide));
      const auto* bytes = reinterpret_cast<const std::byte*>(&narrow);
      if (to_ == mil::DataType::Float16) {
        overflow = convert_f32_to_f16(bytes, out + i * 2, 1) || overflow;
      } else {
        std::memcpy(out + i * sizeof(float), &narrow, sizeof(float));
      }
    }
    return overflow;
  }

  std::shared_ptr<const Checkpoint> checkpoint_;
  const TensorInfo& tensor_;
  Dtype from_;
  mil::DataType to_;
  size_t from_size_, to_size_;
  mutable std::atomic<bool> warned_{false};
};

}  // namespace

mil::DataType weight_type(const TensorInfo& tensor) {
  switch (tensor.dtype) {
    case Dtype::F16:
      return mil::DataType::Float16;
    case Dtype::BF16:
      return mil::DataType::BFloat16;
    case Dtype::F32:
    case Dtype::F64:
      return mil::DataType::Float32;
    default:
      fail(ErrorCode::Unsupported, "tensor '{}' has type {}; F64, F32, F16 and BF16 are supported",
           tensor.name, to_string(tensor.dtype));
  }
}

std::shared_ptr<const mil::TensorSource> weight_source(std::shared_ptr<const Checkpoint> checkpoint,
                                                       std::string_view name, mil::DataType type) {
  const TensorInfo& tensor = checkpoint->at(name);
  const mil::DataType stored = weight_type(tensor);
  if (stored == type && tensor.dtype != Dtype::F64) {
    return std::make_shared<MappedWeight>(std::move(checkpoint), tensor);
  }
  if (type != mil::DataType::Float16 && type != mil::DataType::Float32) {
    fail(ErrorCode::Unsupported, "tensor '{}': no conversion to {}", name, mil::to_string(type));
  }
  return std::make_shared<ConvertedWeight>(std::move(checkpoint), tensor, type);
}

}  // namespace pippin::nn
