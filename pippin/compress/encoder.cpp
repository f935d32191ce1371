#include "pippin/compress/encoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "pippin/base/numbers/float16.h"
#include "pippin/base/numbers/float_convert.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/compress/blocks.h"
#include "pippin/compress/distribution.h"
#include "pippin/compress/palette.h"
#include "pippin/compress/palette_entries.h"
#include "pippin/compress/vector_palette.h"

namespace pippin::compress {
namespace {

// The scale of a larger block is chosen from its distribution.
constexpr int64_t kLargeBlock = int64_t{1} << 17;
constexpr size_t kValuesAtOnce = size_t{1} << 14;

double energy_of(std::span<const float> values) {
  double sums[4] = {};
  size_t i = 0;
  for (; i + 4 <= values.size(); i += 4) {
    for (size_t k = 0; k < 4; ++k) sums[k] += double{values[i + k]} * double{values[i + k]};
  }
  for (; i < values.size(); ++i) sums[0] += double{values[i]} * double{values[i]};
  return sums[0] + sums[1] + sums[2] + sums[3];
}

struct Measure {
  double squared_error = 0, energy = 0;
};

// Sums and scratch memory for one thread.
struct Worker {
  std::vector<float> values;
  std::vector<uint8_t> codes;
  std::vector<uint8_t> table = std::vector<uint8_t>(65536);
  Float16Counter counter;
  double squared_error = 0, energy = 0;
};

class Encoder {
 public:
  Encoder(ByteSpan bytes, mil::DataType type, const Dims& dims, const Encoding& encoding,
          ThreadPool& pool)
      : bytes_(bytes),
        type_(type),
        dims_(dims),
        half_(type == mil::DataType::Float16),
        encoding_(encoding),
        grid_(dims, encoding.blocks),
        pool_(pool),
        count_(grid_.num_blocks() * grid_.block_elements()) {
    for (size_t k = 0; k < dims.size(); ++k) {
      if (k < encoding.channel_axis) outer_ *= dims[k];
      if (k > encoding.channel_axis) inner_ *= dims[k];
    }
  }

  Encoded run() {
    if (!half_ && !all_finite()) {
      result_.energy = std::numeric_limits<double>::infinity();
      return std::move(result_);
    }
    if (encoding_.kept >= 0) encoding_.ratio_m > 0 ? prune_ratio() : prune();
    check_cancel();
    switch (encoding_.form) {
      case Encoding::Form::Linear:
        result_.scales.resize(static_cast<size_t>(grid_.num_blocks()));
        result_.offsets.resize(static_cast<size_t>(grid_.num_blocks()));
        if (grid_.is_flat() && grid_.block_elements() <= int64_t{BlockQuantizer::kMaxSize}) {
          encode_small_blocks();
          break;
        }
        result_.codes = Buffer(static_cast<size_t>(count_));
        for_each_block([&](Worker& worker, int64_t block) { encode_linear_block(worker, block); });
        break;
      case Encoding::Form::Palette:
        result_.codes = Buffer(static_cast<size_t>(count_ / encoding_.cluster));
        result_.luts.resize(static_cast<size_t>(num_palettes() * encoding_.cluster)
                            << encoding_.bits);
        if (encoding_.has_lut_scale()) {
          result_.scales.resize(static_cast<size_t>(num_palettes()));
        }
        for_each_block([&](Worker& worker, int64_t block) { encode_palette_block(worker, block); });
        break;
      case Encoding::Form::Plain:
        for_each_block([&](Worker& worker, int64_t block) {
          grid_.for_each_run(block, [&](int64_t offset, int64_t size) {
            for_each_piece(worker, offset, size, [](int64_t, std::span<float>) {});
          });
        });
        break;
    }
    if (!result_.mask.empty() && !result_.codes.empty()) drop_pruned();
    return std::move(result_);
  }

 private:
  // Calls body(worker, block) for every block, and adds the workers' sums.
  template <typename Body>
  void for_each_block(Body&& body) {
    std::vector<Worker> workers(static_cast<size_t>(pool_.num_threads()));
    pool_.run([&](int part, int parts) {
      Worker& worker = workers[static_cast<size_t>(part)];
      const Range range = split_range(grid_.num_blocks(), part, parts);
      for (int64_t block = range.begin; block < range.end; ++block) {
        if (block % 1024 == 0) check_cancel();
        body(worker, block);
      }
    });
    for (const Worker& worker : workers) {
      result_.squared_error += worker.squared_error;
      result_.energy += worker.energy;
    }
  }

  // Sorting requires finite numbers. (fp16 is counted instead.)
  bool all_finite() const {
    for (int64_t i = 0; i < count_; ++i) {
      uint32_t bits;
      std::memcpy(&bits, bytes_.data() + i * 4, 4);
      if ((bits & 0x7f800000u) == 0x7f800000u) return false;
    }
    return true;
  }

  void load(int64_t offset, std::span<float> out) const {
    const size_t size = half_ ? 2 : 4;
    const std::byte* from = bytes_.data() + static_cast<size_t>(offset) * size;
    if (!half_) {
      std::memcpy(out.data(), from, out.size() * size);
    } else if (out.size() < 8) {
      for (size_t i = 0; i < out.size(); ++i) {
        float16 value;
        std::memcpy(&value, from + i * size, size);
        out[i] = to_float(value);
      }
    } else {
      convert_f16_to_f32(from, reinterpret_cast<std::byte*>(out.data()), out.size());
    }
  }

  // Loads [offset, offset + out.size()), with zeros for pruned elements, and sums the energy and
  // the error of pruning.
  void load_pruned(Worker& worker, int64_t offset, std::span<float> out) const {
    load(offset, out);
    const double energy = energy_of(out);
    worker.energy += energy;
    if (result_.mask.empty()) return;
    for (size_t i = 0; i < out.size(); ++i) {
      if (result_.mask[static_cast<size_t>(offset) + i] == 0) out[i] = 0;
    }
    worker.squared_error += energy - energy_of(out);
  }

  // Calls visit(offset, values) for the pieces of a run.
  template <typename Visit>
  void for_each_piece(Worker& worker, int64_t offset, int64_t size, Visit&& visit) const {
    while (size > 0) {
      worker.values.resize(std::min(kValuesAtOnce, static_cast<size_t>(size)));
      load_pruned(worker, offset, worker.values);
      visit(offset, std::span(worker.values));
      offset += static_cast<int64_t>(worker.values.size());
      size -= static_cast<int64_t>(worker.values.size());
    }
  }

  bool is_kept(int64_t element) const {
    return result_.mask.empty() || result_.mask[static_cast<size_t>(element)] != 0;
  }

  // The distinct values of a block after pruning.
  Distribution distribution_of_block(Worker& worker, int64_t block) const {
    std::vector<float> singles;
    std::vector<uint16_t> bits;
    grid_.for_each_run(block, [&](int64_t offset, int64_t size) {
      for (int64_t begin = 0; begin < size; begin += static_cast<int64_t>(kValuesAtOnce)) {
        const auto count = std::min(kValuesAtOnce, static_cast<size_t>(size - begin));
        if (half_) {
          bits.resize(count);
          std::memcpy(bits.data(), bytes_.data() + (offset + begin) * 2, count * 2);
        } else {
          singles.resize(singles.size() + count);
          load(offset + begin, std::span(singles).last(count));
        }
        if (!result_.mask.empty()) {
          size_t kept = 0;
          const size_t start = half_ ? 0 : singles.size() - count;
          for (size_t i = 0; i < count; ++i) {
            if (!is_kept(offset + begin + static_cast<int64_t>(i))) continue;
            if (half_) {
              bits[kept++] = bits[i];
            } else {
              singles[start + kept++] = singles[start + i];
            }
          }
          half_ ? bits.resize(kept) : singles.resize(start + kept);
        }
        if (half_) worker.counter.add(bits);
      }
    });
    return half_ ? worker.counter.take() : distribution_of(std::move(singles));
  }

  void encode_linear_block(Worker& worker, int64_t block) {
    const auto index = static_cast<size_t>(block);
    const auto store = [&](const LinearScale& scale) {
      result_.scales[index] = scale.scale;
      result_.offsets[index] = static_cast<uint8_t>(scale.offset);
    };
    if (grid_.block_elements() > kLargeBlock) {
      const Distribution distribution = distribution_of_block(worker, block);
      const LinearScale scale =
          choose_scale(distribution.values, distribution.weights, encoding_.linear);
      store(scale);
      grid_.for_each_run(block, [&](int64_t offset, int64_t size) {
        for_each_piece(worker, offset, size, [&](int64_t at, std::span<float> values) {
          worker.squared_error +=
              encode_linear(values, scale, encoding_.linear, result_.codes.codes() + at);
        });
      });
      return;
    }
    worker.values.resize(static_cast<size_t>(grid_.block_elements()));
    int64_t runs = 0, place = 0;
    size_t next = 0;
    grid_.for_each_run(block, [&](int64_t offset, int64_t size) {
      const auto count = static_cast<size_t>(size);
      load_pruned(worker, offset, std::span(worker.values).subspan(next, count));
      next += count;
      place = offset;
      ++runs;
    });
    const LinearScale scale = choose_scale(worker.values, {}, encoding_.linear);
    store(scale);
    if (runs == 1) {
      worker.squared_error +=
          encode_linear(worker.values, scale, encoding_.linear, result_.codes.codes() + place);
      return;
    }
    worker.codes.resize(worker.values.size());
    worker.squared_error +=
        encode_linear(worker.values, scale, encoding_.linear, worker.codes.data());
    next = 0;
    grid_.for_each_run(block, [&](int64_t offset, int64_t size) {
      std::copy_n(worker.codes.data() + next, size, result_.codes.codes() + offset);
      next += static_cast<size_t>(size);
    });
  }

  // Consecutive blocks, many at a time.
  void encode_small_blocks() {
    const auto size = static_cast<size_t>(grid_.block_elements());
    const bool packs =
        mil::bit_width(encoding_.linear.data) == 4 && size % 2 == 0 && result_.mask.empty();
    const auto count = static_cast<size_t>(count_);
    (packs ? result_.packed : result_.codes) = Buffer(packs ? count / 2 : count);
    std::vector<Measure> measures(static_cast<size_t>(pool_.num_threads()));
    pool_.run([&](int part, int parts) {
      BlockQuantizer quantizer(encoding_.linear, size);
      Worker worker;
      constexpr auto kBatch = static_cast<int64_t>(BlockQuantizer::kBatch);
      const Range range = split_range(grid_.num_blocks(), part, parts, kBatch);
      for (int64_t block = range.begin; block < range.end; block += kBatch) {
        if (block / kBatch % 1024 == 0) check_cancel();
        const auto some = static_cast<size_t>(std::min(kBatch, range.end - block));
        const auto first = static_cast<size_t>(block) * size;
        worker.values.resize(some * size);
        if (packs) {
          load(static_cast<int64_t>(first), worker.values);
        } else {
          load_pruned(worker, static_cast<int64_t>(first), worker.values);
        }
        quantizer.choose(worker.values, {}, some);
        if (packs) {
          quantizer.encode_packed(worker.values, some, result_.packed.codes() + first / 2);
        } else {
          quantizer.encode(worker.values, some, result_.codes.codes() + first);
        }
        for (size_t i = 0; i < some; ++i) {
          result_.scales[static_cast<size_t>(block) + i] = quantizer.scales()[i];
          result_.offsets[static_cast<size_t>(block) + i] =
              static_cast<uint8_t>(static_cast<int>(quantizer.offsets()[i]));
        }
      }
      measures[static_cast<size_t>(part)] = {worker.squared_error + quantizer.squared_error,
                                             packs ? quantizer.energy : worker.energy};
    });
    for (const Measure& measure : measures) {
      result_.squared_error += measure.squared_error;
      result_.energy += measure.energy;
    }
  }

  int64_t num_palettes() const {
    int64_t count = 1;
    for (const int64_t blocks : encoding_.lut_blocks(dims_)) count *= blocks;
    return count;
  }

  // Stores the palette's entries; returns their values after rounding.
  std::vector<float> store_palette(std::vector<float> lut, std::span<const float> weights,
                                   int64_t palette) {
    const auto first = palette * static_cast<int64_t>(lut.size());
    if (!encoding_.int8_lut) {
      std::copy(lut.begin(), lut.end(), result_.luts.begin() + first);
      return lut;
    }
    const IntegerEntries rounded = integer_entries(lut, weights, type_);
    result_.scales[static_cast<size_t>(palette)] = rounded.scale;
    for (size_t i = 0; i < lut.size(); ++i) {
      const auto entry = static_cast<float>(rounded.integers[i]);
      result_.luts[static_cast<size_t>(first) + i] = entry;
      lut[i] = entry_value(entry, rounded.scale, type_);
    }
    return lut;
  }

  // Visits the elements of one channel, in memory order.
  template <typename Visit>
  void for_each_element(int64_t channel, Visit&& visit) const {
    for (int64_t outer = 0; outer < outer_; ++outer) {
      const int64_t first = (outer * dims_[encoding_.channel_axis] + channel) * inner_;
      for (int64_t i = 0; i < inner_; ++i) visit(first + i);
    }
  }

  float value_at(int64_t element) const {
    float value = 0;
    load(element, {&value, 1});
    return value;
  }

  // Channels that share a palette, each with its scale: every channel stores the palette, since
  // Core ML requires scales to be applied to palettes.
  void encode_scaled_block(Worker& worker, int64_t block) {
    const int64_t size = dims_[encoding_.channel_axis] / grid_.num_blocks();
    std::vector<std::vector<float>> channels(static_cast<size_t>(size));
    for (int64_t c = 0; c < size; ++c) {
      auto& channel = channels[static_cast<size_t>(c)];
      for_each_element(block * size + c, [&](int64_t at) { channel.push_back(value_at(at)); });
      worker.energy += energy_of(channel);
    }
    if (!std::isfinite(worker.energy)) return;
    const size_t entries = size_t{1} << encoding_.bits;
    const ScaledPalette palette = scaled_palette(channels, entries, encoding_.int8_lut, type_);
    const NearestEntry nearest(palette.entries);
    for (int64_t c = 0; c < size; ++c) {
      const auto channel = static_cast<size_t>(block * size + c);
      const float scale = palette.scales[static_cast<size_t>(c)];
      result_.scales[channel] = scale;
      std::copy(palette.entries.begin(), palette.entries.end(),
                result_.luts.begin() + static_cast<int64_t>(channel * entries));
      size_t next = 0;
      for_each_element(static_cast<int64_t>(channel), [&](int64_t at) {
        const float value = channels[static_cast<size_t>(c)][next++];
        const uint8_t code = nearest(value / scale);
        result_.codes.codes()[at] = code;
        const double difference =
            double{value} - double{entry_value(palette.entries[code], scale, type_)};
        worker.squared_error += difference * difference;
      });
    }
  }

  // Channels that share a palette of vectors: `cluster` channels at the same position have one
  // code.
  void encode_vector_block(Worker& worker, int64_t block) {
    const int64_t cluster = encoding_.cluster, channels = dims_[encoding_.channel_axis];
    const int64_t size = channels / grid_.num_blocks();
    std::vector<float> vectors;
    vectors.reserve(static_cast<size_t>(grid_.block_elements()));
    std::vector<int64_t> places;
    for (int64_t c = block * size; c < (block + 1) * size; c += cluster) {
      for_each_element(c, [&](int64_t at) {
        const int64_t outer = at / inner_ / channels;
        places.push_back((outer * (channels / cluster) + c / cluster) * inner_ + at % inner_);
        for (int64_t k = 0; k < cluster; ++k) vectors.push_back(value_at(at + k * inner_));
      });
    }
    const double energy = energy_of(vectors);
    worker.energy += energy;
    if (!std::isfinite(energy)) return;
    VectorPaletteOptions options;
    options.entries = size_t{1} << encoding_.bits;
    options.dimensions = static_cast<size_t>(cluster);
    options.seed = static_cast<uint64_t>(block) + 1;
    std::vector<float> lut = vector_palette(vectors, options);
    for (float& value : lut) value = entry_value(value, 1, type_);
    lut = store_palette(std::move(lut), {}, block);
    const NearestVector nearest(lut, options.dimensions);
    for (size_t i = 0; i < places.size(); ++i) {
      const float* vector = vectors.data() + i * options.dimensions;
      size_t code = 0;
      worker.squared_error += double{nearest.squared_distance(vector, code)};
      result_.codes.codes()[places[i]] = static_cast<uint8_t>(code);
    }
  }

  void encode_palette_block(Worker& worker, int64_t block) {
    if (encoding_.cluster > 1) return encode_vector_block(worker, block);
    if (encoding_.channel_scale) return encode_scaled_block(worker, block);
    const Distribution distribution = distribution_of_block(worker, block);
    const size_t entries = size_t{1} << encoding_.bits;
    std::vector<float> lut = stored_palette(optimal_palette(distribution, entries), entries, type_);
    lut = store_palette(std::move(lut), {}, block);
    const NearestEntry nearest(lut);
    if (half_) {
      for (const float value : distribution.values) {
        const uint8_t code = nearest(value);
        const uint16_t bits = to_float16(value).bits;
        worker.table[bits] = code;
        if (bits == 0) worker.table[0x8000] = code;
      }
    }
    grid_.for_each_run(block, [&](int64_t offset, int64_t size) {
      for_each_piece(worker, offset, size, [&](int64_t at, std::span<float> values) {
        encode_palette_piece(worker, at, values, lut, nearest);
      });
    });
  }

  void encode_palette_piece(Worker& worker, int64_t at, std::span<const float> values,
                            const std::vector<float>& lut, const NearestEntry& nearest) {
    double error = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const int64_t element = at + static_cast<int64_t>(i);
      if (!is_kept(element)) continue;
      uint8_t code = 0;
      if (half_) {
        uint16_t bits;
        std::memcpy(&bits, bytes_.data() + element * 2, 2);
        code = worker.table[bits];
      } else {
        code = nearest(values[i]);
      }
      result_.codes.codes()[element] = code;
      const double difference = double{values[i]} - double{lut[code]};
      error += difference * difference;
    }
    worker.squared_error += error;
  }

  // Of every ratio_m elements along the input axis, prunes the ratio_n smallest, the first among
  // equals; a group cut short by the end is padded with zeros, which are pruned first.
  void prune_ratio() {
    result_.mask.assign(static_cast<size_t>(count_), 1);
    const int64_t size = dims_[encoding_.input_axis], m = encoding_.ratio_m;
    int64_t inner = 1;
    for (size_t k = encoding_.input_axis + 1; k < dims_.size(); ++k) inner *= dims_[k];
    pool_.run([&](int part, int parts) {
      const Range range = split_range(count_ / size, part, parts);
      std::vector<std::pair<float, int64_t>> group;
      for (int64_t line = range.begin; line < range.end; ++line) {
        const int64_t start = line / inner * inner * size + line % inner;
        for (int64_t first = 0; first < size; first += m) {
          const int64_t some = std::min(m, size - first);
          group.clear();
          for (int64_t i = first; i < first + some; ++i) {
            const int64_t at = start + i * inner;
            const float value = value_at(at);
            group.emplace_back(std::isfinite(value) ? std::abs(value) : 0.0f, at);
          }
          std::stable_sort(group.begin(), group.end(),
                           [](const auto& a, const auto& b) { return a.first < b.first; });
          const int64_t gone = pruned_of_group(encoding_.ratio_n, m, some);
          for (int64_t i = 0; i < gone; ++i) {
            result_.mask[static_cast<size_t>(group[static_cast<size_t>(i)].second)] = 0;
          }
        }
      }
    });
  }

  // Keeps the `kept` elements of the largest magnitude; at the border, the first among equals.
  void prune() {
    const auto kept = static_cast<size_t>(encoding_.kept);
    const auto total = static_cast<size_t>(count_);
    result_.mask.assign(total, 0);
    if (kept == 0) return;
    // Magnitudes have the same order as their bits as integers.
    const auto magnitude = [&](size_t i) -> uint32_t {
      if (half_) {
        uint16_t bits;
        std::memcpy(&bits, bytes_.data() + i * 2, 2);
        return bits & 0x7fffu;
      }
      uint32_t bits;
      std::memcpy(&bits, bytes_.data() + i * 4, 4);
      return bits & 0x7fffffffu;
    };
    // Two rounds of counting: the upper 16 bits, then the lower ones of the border's.
    uint32_t border = 0;
    size_t above = 0;  // elements larger than the border
    for (int round = 0; round < (half_ ? 1 : 2); ++round) {
      std::vector<size_t> counts(65536);
      for (size_t i = 0; i < total; ++i) {
        const uint32_t value = magnitude(i);
        if (half_) {
          ++counts[value];
        } else if (round == 0) {
          ++counts[value >> 16];
        } else if (value >> 16 == border) {
          ++counts[value & 0xffff];
        }
      }
      size_t bin = counts.size() - 1;
      while (above + counts[bin] < kept) above += counts[bin--];
      border = round == 0 ? static_cast<uint32_t>(bin) : border << 16 | static_cast<uint32_t>(bin);
    }
    size_t ties = kept - above;
    for (size_t i = 0; i < total; ++i) {
      const uint32_t value = magnitude(i);
      const bool keep = value > border || (value == border && ties > 0);
      if (value == border && keep) --ties;
      result_.mask[i] = keep ? 1 : 0;
    }
  }

  void drop_pruned() {
    size_t next = 0;
    uint8_t* codes = result_.codes.codes();
    for (size_t i = 0; i < result_.codes.size(); ++i) {
      if (result_.mask[i] != 0) codes[next++] = codes[i];
    }
    result_.codes.shrink(next);
  }

  ByteSpan bytes_;
  mil::DataType type_;
  const Dims& dims_;
  bool half_;
  const Encoding& encoding_;
  BlockGrid grid_;
  ThreadPool& pool_;
  int64_t count_;
  int64_t outer_ = 1, inner_ = 1;  // elements before and after the channel axis
  Encoded result_;
};

}  // namespace

Encoded encode(ByteSpan bytes, mil::DataType type, const Dims& dims, const Encoding& encoding,
               ThreadPool& pool) {
  return Encoder(bytes, type, dims, encoding, pool).run();
}

}  // namespace pippin::compress
