#include "pippin/compress/calibrated_encoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "pippin/base/numbers/float16.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/compress/blocks.h"
#include "pippin/compress/distribution.h"
#include "pippin/compress/error_feedback.h"
#include "pippin/compress/kernels_here.h"
#include "pippin/compress/palette_entries.h"

namespace pippin::compress {
namespace {

constexpr int64_t kRows = static_cast<int64_t>(BlockQuantizer::kBatch);  // at a time
constexpr int64_t kPanel = 64;  // inputs between two updates of all subsequent ones

int64_t stride_of(const Dims& dims, size_t axis) {
  int64_t stride = 1;
  for (size_t k = axis + 1; k < dims.size(); ++k) stride *= dims[k];
  return stride;
}

class CalibratedEncoder {
 public:
  CalibratedEncoder(ByteSpan bytes, mil::DataType type, const Dims& dims, const Encoding& encoding,
                    const InputMoments& moments, ThreadPool& pool)
      : bytes_(bytes),
        type_(type),
        encoding_(encoding),
        pool_(pool),
        feedback_(moments, pool),
        channels_(dims[encoding.channel_axis]),
        inputs_(dims[encoding.input_axis]),
        channel_stride_(stride_of(dims, encoding.channel_axis)),
        input_stride_(stride_of(dims, encoding.input_axis)),
        group_(channels_ / encoding.blocks[encoding.channel_axis]),
        block_(inputs_ / encoding.blocks[encoding.input_axis]),
        block_stride_(stride_of(encoding.blocks, encoding.input_axis)),
        group_stride_(stride_of(encoding.blocks, encoding.channel_axis)) {}

  Encoded run() {
    const bool linear = encoding_.form == Encoding::Form::Linear;
    result_.codes = Buffer(static_cast<size_t>(channels_ * inputs_));
    const auto blocks = static_cast<size_t>(channels_ / group_ * (inputs_ / block_));
    if (linear) {
      result_.scales.resize(blocks);
      result_.offsets.resize(blocks);
      if (group_ > 1) choose_shared_scales();
    } else {
      luts_.resize(blocks);
      result_.luts.resize(blocks << encoding_.bits);
      if (encoding_.int8_lut) result_.scales.resize(blocks);
      choose_palettes();
    }
    std::vector<double> errors(static_cast<size_t>(pool_.num_threads()));
    std::vector<double> energies = errors;
    pool_.run([&](int part, int parts) {
      Batch batch(*this);
      const Range range = split_range(channels_, part, parts, kRows);
      for (int64_t row = range.begin; row < range.end; row += kRows) {
        check_cancel();
        batch.encode(row, std::min(kRows, range.end - row));
      }
      errors[static_cast<size_t>(part)] = batch.squared_error;
      energies[static_cast<size_t>(part)] = batch.energy;
    });
    for (const double error : errors) result_.squared_error += error;
    for (const double energy : energies) result_.energy += energy;
    return std::move(result_);
  }

 private:
  float value_at(int64_t channel, int64_t input) const {
    const auto at = static_cast<size_t>(channel * channel_stride_ + input * input_stride_);
    if (type_ == mil::DataType::Float32) {
      float value;
      std::memcpy(&value, bytes_.data() + at * 4, 4);
      return value;
    }
    float16 value;
    std::memcpy(&value, bytes_.data() + at * 2, 2);
    return to_float(value);
  }

  size_t block_index(int64_t channel, int64_t input) const {
    return static_cast<size_t>(channel / group_ * group_stride_ + input / block_ * block_stride_);
  }

  // For blocks of several channels, from the original values.
  void choose_shared_scales() {
    const int64_t input_blocks = inputs_ / block_;
    const int64_t blocks = channels_ / group_ * input_blocks;
    pool_.run([&](int part, int parts) {
      for (int64_t block = part; block < blocks; block += parts) {
        const int64_t channel = block / input_blocks * group_;
        const int64_t input = block % input_blocks * block_;
        std::vector<float> values;
        for (int64_t c = channel; c < channel + group_; ++c) {
          for (int64_t i = input; i < input + block_; ++i) {
            const float value = value_at(c, i);
            values.push_back(std::isfinite(value) ? value : 0.0f);
          }
        }
        const Distribution distribution = distribution_of(std::move(values));
        const LinearScale scale =
            choose_scale(distribution.values, distribution.weights, encoding_.linear);
        result_.scales[block_index(channel, input)] = scale.scale;
        result_.offsets[block_index(channel, input)] = static_cast<uint8_t>(scale.offset);
      }
    });
  }

  void choose_palettes() {
    const int64_t groups = channels_ / group_;
    const size_t entries = size_t{1} << encoding_.bits;
    pool_.run([&](int part, int parts) {
      std::vector<std::pair<float, float>> values;
      for (int64_t group = part; group < groups; group += parts) {
        check_cancel();
        const Distribution distribution = distribution_of_group(group);
        std::vector<float> lut =
            stored_palette(optimal_palette(distribution, entries), entries, type_);
        const auto index = block_index(group * group_, 0);
        float* stored = result_.luts.data() + index * entries;
        std::copy(lut.begin(), lut.end(), stored);
        if (encoding_.int8_lut) {
          const IntegerEntries rounded = integer_entries(lut, {}, type_);
          result_.scales[index] = rounded.scale;
          for (size_t i = 0; i < entries; ++i) {
            stored[i] = static_cast<float>(rounded.integers[i]);
            lut[i] = entry_value(stored[i], rounded.scale, type_);
          }
        }
        luts_[index] = std::move(lut);
      }
    });
  }

  // Values are weighted by the importance of their inputs.
  Distribution distribution_of_group(int64_t group) const {
    std::vector<std::pair<float, float>> values;
    std::vector<double> counts;  // per fp16 pattern
    const bool half = type_ == mil::DataType::Float16;
    if (half) counts.resize(65536);
    for (int64_t c = group * group_; c < (group + 1) * group_; ++c) {
      for (int64_t i = 0; i < inputs_; ++i) {
        const float value = value_at(c, i);
        if (!std::isfinite(value)) continue;
        const float weight = feedback_.importance()[static_cast<size_t>(i)];
        if (half) {
          counts[to_float16(value).bits] += double{weight};
        } else {
          values.emplace_back(value, weight);
        }
      }
    }
    for (size_t bits = 0; bits < counts.size(); ++bits) {
      if (counts[bits] <= 0) continue;
      values.emplace_back(to_float(float16{static_cast<uint16_t>(bits)}),
                          static_cast<float>(counts[bits]));
    }
    return weighted_distribution(std::move(values));
  }

  // Some channels, processed together on one thread.
  class Batch {
   public:
    explicit Batch(CalibratedEncoder& encoder)
        : of_(encoder),
          width_(encoder.inputs_),
          values_(static_cast<size_t>(kRows * width_)),
          wanted_(values_.size()),
          errors_(static_cast<size_t>(kRows * kPanel)) {
      if (of_.encoding_.form != Encoding::Form::Linear || of_.group_ > 1) return;
      const auto size = static_cast<size_t>(of_.block_);
      if (size > BlockQuantizer::kMaxSize) return;
      quantizer_.emplace(of_.encoding_.linear, size, true);
      block_values_.resize(size * kRows);
      block_weights_.resize(size * kRows);
    }

    void encode(int64_t first, int64_t count) {
      first_ = first;
      count_ = count;
      for (int64_t r = 0; r < count; ++r) {
        for (int64_t i = 0; i < width_; ++i) {
          const float value = of_.value_at(first + r, i);
          values_[at(r, i)] = value;
          energy += double{value} * double{value};
        }
      }
      if (!std::isfinite(energy)) return;
      wanted_ = values_;
      for (int64_t block = 0; block < width_; block += of_.block_) {
        if (of_.encoding_.form == Encoding::Form::Linear && of_.group_ == 1) choose_scales(block);
        for (int64_t panel = block; panel < block + of_.block_; panel += kPanel) {
          encode_panel(panel, std::min(kPanel, block + of_.block_ - panel));
        }
      }
    }

    double squared_error = 0, energy = 0;

   private:
    size_t at(int64_t row, int64_t input) const {
      return static_cast<size_t>(row * width_ + input);
    }

    void choose_scales(int64_t block) {
      const auto size = static_cast<size_t>(of_.block_);
      const float* importance = of_.feedback_.importance().data() + block;
      const auto store = [&](int64_t row, float scale, float offset) {
        const size_t index = of_.block_index(first_ + row, block);
        of_.result_.scales[index] = scale;
        of_.result_.offsets[index] = static_cast<uint8_t>(static_cast<int>(offset));
      };
      if (!quantizer_) {
        for (int64_t r = 0; r < count_; ++r) {
          const LinearScale scale = choose_scale({wanted_.data() + at(r, block), size},
                                                 {importance, size}, of_.encoding_.linear);
          store(r, scale.scale, static_cast<float>(scale.offset));
        }
        return;
      }
      for (int64_t r = 0; r < count_; ++r) {
        std::copy_n(wanted_.data() + at(r, block), size,
                    block_values_.data() + static_cast<size_t>(r) * size);
        std::copy_n(importance, size, block_weights_.data() + static_cast<size_t>(r) * size);
      }
      quantizer_->choose(block_values_, block_weights_, static_cast<size_t>(count_));
      for (int64_t r = 0; r < count_; ++r) {
        store(r, quantizer_->scales()[static_cast<size_t>(r)],
              quantizer_->offsets()[static_cast<size_t>(r)]);
      }
    }

    auto linear_codes(size_t index) const {
      const LinearFormat& format = of_.encoding_.linear;
      const float scale = of_.result_.scales[index];
      const uint8_t stored = of_.result_.offsets[index];
      const int offset = format.lowest() < 0 ? static_cast<int8_t>(stored) : stored;
      return [low = static_cast<float>(format.lowest() - offset),
              high = static_cast<float>(format.highest() - offset), scale, offset](float x) {
        const float p = std::nearbyint(std::clamp(x / scale, low, high));
        return std::pair(static_cast<uint8_t>(static_cast<int>(p) + offset), p * scale);
      };
    }

    // Encodes inputs [panel, panel + size), whose errors are passed on to the inputs after them.
    void encode_panel(int64_t panel, int64_t size) {
      for (int64_t r = 0; r < count_; ++r) {
        float* errors = errors_.data() + r * kPanel;
        float* wanted = wanted_.data() + at(r, panel);
        const size_t index = of_.block_index(first_ + r, panel);
        const auto encode_row = [&](auto&& code_and_value) {
          for (int64_t k = 0; k < size; ++k) {
            const auto [code, value] = code_and_value(wanted[k]);
            const int64_t input = panel + k;
            of_.result_.codes
                .codes()[(first_ + r) * of_.channel_stride_ + input * of_.input_stride_] = code;
            errors[k] = values_[at(r, input)] - value;
            squared_error += double{errors[k]} * double{errors[k]};
            kernels_here().add_products(errors + k, of_.feedback_.row(input) + 1, 0, 1,
                                        size - k - 1, wanted + k + 1);
          }
        };
        if (of_.encoding_.form == Encoding::Form::Linear) {
          encode_row(linear_codes(index));
        } else {
          const std::vector<float>& lut = of_.luts_[index];
          const NearestEntry nearest(lut);
          encode_row([&](float x) {
            const uint8_t code = nearest(x);
            return std::pair(code, lut[code]);
          });
        }
      }
      const int64_t next = panel + size;
      if (next == width_) return;
      const float* rows = of_.feedback_.row(panel) + size;
      for (int64_t r = 0; r < count_; ++r) {
        kernels_here().add_products(errors_.data() + r * kPanel, rows, width_, size, width_ - next,
                                    wanted_.data() + at(r, next));
      }
    }

    CalibratedEncoder& of_;
    int64_t width_, first_ = 0, count_ = 0;
    std::vector<float> values_,
        wanted_;  // [row][input]: the original values; with the errors passed on to them
    std::vector<float> errors_;  // [row][input of the panel]
    std::optional<BlockQuantizer> quantizer_;
    std::vector<float> block_values_, block_weights_;
  };

  ByteSpan bytes_;
  mil::DataType type_;
  const Encoding& encoding_;
  ThreadPool& pool_;
  ErrorFeedback feedback_;
  int64_t channels_, inputs_, channel_stride_, input_stride_;
  int64_t group_, block_, block_stride_, group_stride_;  // channels and inputs of a block
  std::vector<std::vector<float>> luts_;                 // the values of the entries
  Encoded result_;
};

}  // namespace

bool can_calibrate(const Dims& dims, const Encoding& encoding) {
  if (encoding.kept >= 0 || encoding.form == Encoding::Form::Plain) return false;
  if (encoding.cluster > 1 || encoding.channel_scale) return false;
  if (encoding.channel_axis == encoding.input_axis) return false;
  for (size_t k = 0; k < dims.size(); ++k) {
    if (k != encoding.channel_axis && k != encoding.input_axis && dims[k] != 1) return false;
  }
  return dims[encoding.channel_axis] > 0 && dims[encoding.input_axis] > 0;
}

Encoded encode_calibrated(ByteSpan bytes, mil::DataType type, const Dims& dims,
                          const Encoding& encoding, const InputMoments& moments, ThreadPool& pool) {
  return CalibratedEncoder(bytes, type, dims, encoding, moments, pool).run();
}

}  // namespace pippin::compress
