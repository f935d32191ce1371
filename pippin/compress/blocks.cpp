#include "pippin/compress/blocks.h"

#include "pippin/compress/kernels_here.h"

namespace pippin::compress {
namespace {

kernels::LinearLevels levels_of(const LinearFormat& format, size_t size) {
  const auto shares = shares_of_range(format, size);
  return {static_cast<float>(format.lowest()),
          static_cast<float>(format.highest()),
          static_cast<float>(format.middle()),
          format.symmetric,
          format.scale == mil::DataType::Float16,
          shares.data(),
          std::ssize(shares)};
}

}  // namespace

BlockQuantizer::BlockQuantizer(const LinearFormat& format, size_t size, bool weighted)
    : format_(format), size_(size), scratch_(size * kBatch * (weighted ? 2 : 1)) {}

void BlockQuantizer::choose(std::span<const float> values, std::span<const float> weights,
                            size_t count) {
  if (kernels_here().choose_scales != nullptr) {
    kernels_here().choose_scales(values.data(), weights.empty() ? nullptr : weights.data(),
                                 static_cast<int64_t>(count), static_cast<int64_t>(size_),
                                 levels_of(format_, size_), scratch_.data(), scales_, offsets_);
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    const LinearScale scale =
        choose_scale(values.subspan(i * size_, size_),
                     weights.empty() ? weights : weights.subspan(i * size_, size_), format_);
    scales_[i] = scale.scale;
    offsets_[i] = static_cast<float>(scale.offset);
  }
}

void BlockQuantizer::encode(std::span<const float> values, size_t count, uint8_t* codes) {
  for (size_t i = 0; i < count; ++i) {
    const auto block = values.subspan(i * size_, size_);
    squared_error += encode_linear(block, {scales_[i], static_cast<int>(offsets_[i])}, format_,
                                   codes + i * size_);
    for (const float value : block) energy += double{value} * double{value};
  }
}

void BlockQuantizer::encode_packed(std::span<const float> values, size_t count, uint8_t* bytes) {
  if (size_ % 16 == 0) {
    kernels::BlockSums sums = {};
    kernels_here().pack4(values.data(), static_cast<int64_t>(count), static_cast<int64_t>(size_),
                         levels_of(format_, size_), scales_, offsets_, bytes, &sums);
    squared_error += sums.error;
    energy += sums.energy;
    return;
  }
  codes_.resize(count * size_);
  encode(values, count, codes_.data());
  for (size_t i = 0; i < codes_.size(); i += 2) {
    bytes[i / 2] = static_cast<uint8_t>((codes_[i] & 15) | codes_[i + 1] << 4);
  }
}

}  // namespace pippin::compress
