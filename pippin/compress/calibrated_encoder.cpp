#include "pippin/compress/calibrated_encoder.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "pippin/base/numbers/float16.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/compress/blocks.h"
#include "pippin/compress/distribution.h"
#include "pippin/compress/error_feedback.h"
#include "pippin/compress/improve.h"
#include "pippin/compress/kernels_here.h"
#include "pippin/compress/levels.h"
#include "pippin/compress/matrix_view.h"
#include "pippin/compress/palette_entries.h"

namespace pippin::compress {
namespace {

constexpr int64_t kRows = static_cast<int64_t>(BlockQuantizer::kBatch);  // at a time
constexpr int64_t kPanel = 64;  // inputs between two updates of all subsequent ones

class CalibratedEncoder {
 public:
  CalibratedEncoder(ByteSpan bytes, mil::DataType type, const Dims& dims, const Encoding& encoding,
                    const InputMoments& moments, ThreadPool& pool)
      : view_(bytes, type, dims, encoding),
        type_(type),
        encoding_(encoding),
        pool_(pool),
        feedback_(moments, order_of_inputs(moments, view_.block()), pool) {}

  Encoded run(int rounds) {
    const bool linear = encoding_.form == Encoding::Form::Linear;
    result_.codes = Buffer(static_cast<size_t>(view_.channels() * view_.inputs()));
    const auto blocks = static_cast<size_t>(view_.num_blocks());
    if (linear) {
      result_.scales.resize(blocks);
      result_.offsets.resize(blocks);
      if (view_.group() > 1) choose_shared_scales();
    } else {
      result_.luts.resize(blocks << encoding_.bits);
      if (encoding_.int8_lut) result_.scales.resize(blocks);
      choose_palettes();
    }
    std::vector<double> energies(static_cast<size_t>(pool_.num_threads()));
    pool_.run([&](int part, int parts) {
      Batch batch(*this);
      const Range range = split_range(view_.channels(), part, parts, kRows);
      for (int64_t row = range.begin; row < range.end; row += kRows) {
        check_cancel();
        batch.encode(row, std::min(kRows, range.end - row));
      }
      energies[static_cast<size_t>(part)] = batch.energy;
    });
    for (const double energy : energies) result_.energy += energy;
    if (!std::isfinite(result_.energy)) return std::move(result_);
    improve_codes(view_, encoding_, type_, feedback_, rounds, pool_, result_);
    return std::move(result_);
  }

 private:
  // For blocks of several channels, from the original values.
  void choose_shared_scales() {
    const int64_t input_blocks = view_.inputs() / view_.block();
    pool_.run([&](int part, int parts) {
      for (int64_t block = part; block < view_.num_blocks(); block += parts) {
        const int64_t channel = block / input_blocks * view_.group();
        const int64_t input = block % input_blocks * view_.block();
        std::vector<float> values;
        for (int64_t c = channel; c < channel + view_.group(); ++c) {
          for (int64_t i = input; i < input + view_.block(); ++i) {
            const float value = view_.value_at(c, i);
            values.push_back(std::isfinite(value) ? value : 0.0f);
          }
        }
        const Distribution distribution = distribution_of(std::move(values));
        const LinearScale scale =
            choose_scale(distribution.values, distribution.weights, encoding_.linear);
        result_.scales[view_.block_index(channel, input)] = scale.scale;
        result_.offsets[view_.block_index(channel, input)] = static_cast<uint8_t>(scale.offset);
      }
    });
  }

  void choose_palettes() {
    const int64_t groups = view_.channels() / view_.group();
    const size_t entries = size_t{1} << encoding_.bits;
    pool_.run([&](int part, int parts) {
      std::vector<std::pair<float, float>> values;
      for (int64_t group = part; group < groups; group += parts) {
        check_cancel();
        const Distribution distribution = distribution_of_group(group);
        const std::vector<float> lut =
            stored_palette(optimal_palette(distribution, entries), entries, type_);
        const auto index = view_.block_index(group * view_.group(), 0);
        float* stored = result_.luts.data() + index * entries;
        std::copy(lut.begin(), lut.end(), stored);
        if (encoding_.int8_lut) {
          const IntegerEntries rounded = integer_entries(lut, {}, type_);
          result_.scales[index] = rounded.scale;
          for (size_t i = 0; i < entries; ++i) {
            stored[i] = static_cast<float>(rounded.integers[i]);
          }
        }
      }
    });
  }

  // Values are weighted by the importance of their inputs.
  Distribution distribution_of_group(int64_t group) const {
    std::vector<std::pair<float, float>> values;
    std::vector<double> counts;  // per fp16 pattern
    const bool half = type_ == mil::DataType::Float16;
    if (half) counts.resize(65536);
    for (int64_t c = group * view_.group(); c < (group + 1) * view_.group(); ++c) {
      for (int64_t step = 0; step < view_.inputs(); ++step) {
        const auto at = static_cast<size_t>(step);
        const float value = view_.value_at(c, feedback_.order()[at]);
        if (!std::isfinite(value)) continue;
        const float weight = feedback_.importance()[at];
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
          width_(encoder.view_.inputs()),
          values_(static_cast<size_t>(kRows * width_)),
          wanted_(values_.size()),
          errors_(static_cast<size_t>(kRows * kPanel)) {
      if (of_.encoding_.form != Encoding::Form::Linear || of_.view_.group() > 1) return;
      const auto size = static_cast<size_t>(of_.view_.block());
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
          const float value = of_.view_.value_at(first + r, input_of(i));
          values_[at(r, i)] = value;
          energy += double{value} * double{value};
        }
      }
      if (!std::isfinite(energy)) return;
      wanted_ = values_;
      for (int64_t block = 0; block < width_; block += of_.view_.block()) {
        if (of_.encoding_.form == Encoding::Form::Linear && of_.view_.group() == 1)
          choose_scales(block);
        for (int64_t panel = block; panel < block + of_.view_.block(); panel += kPanel) {
          encode_panel(panel, std::min(kPanel, block + of_.view_.block() - panel));
        }
      }
    }

    double energy = 0;

   private:
    size_t at(int64_t row, int64_t step) const { return static_cast<size_t>(row * width_ + step); }
    int64_t input_of(int64_t step) const {
      return of_.feedback_.order()[static_cast<size_t>(step)];
    }

    void choose_scales(int64_t block) {
      const auto size = static_cast<size_t>(of_.view_.block());
      const float* importance = of_.feedback_.importance().data() + block;
      const auto store = [&](int64_t row, float scale, float offset) {
        const size_t index = of_.view_.block_index(first_ + row, input_of(block));
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

    // Encodes steps [panel, panel + size), whose errors are passed on to the steps after them.
    void encode_panel(int64_t panel, int64_t size) {
      for (int64_t r = 0; r < count_; ++r) {
        float* errors = errors_.data() + r * kPanel;
        float* wanted = wanted_.data() + at(r, panel);
        const size_t index = of_.view_.block_index(first_ + r, input_of(panel));
        const Levels levels(of_.result_, of_.encoding_, index, of_.type_);
        for (int64_t k = 0; k < size; ++k) {
          const auto [code, value] = levels.nearest(wanted[k]);
          const int64_t step = panel + k;
          of_.result_.codes.codes()[of_.view_.place(first_ + r, input_of(step))] = code;
          errors[k] = values_[at(r, step)] - value;
          kernels_here().add_products(errors + k, of_.feedback_.row(step) + 1, 0, 1, size - k - 1,
                                      wanted + k + 1);
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
        wanted_;  // [row][step]: the original values; with the errors passed on to them
    std::vector<float> errors_;  // [row][step of the panel]
    std::optional<BlockQuantizer> quantizer_;
    std::vector<float> block_values_, block_weights_;
  };

  MatrixView view_;
  mil::DataType type_;
  const Encoding& encoding_;
  ThreadPool& pool_;
  ErrorFeedback feedback_;
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
                          const Encoding& encoding, const InputMoments& moments, int rounds,
                          ThreadPool& pool) {
  return CalibratedEncoder(bytes, type, dims, encoding, moments, pool).run(rounds);
}

}  // namespace pippin::compress
