#include "pippin/compress/fit_palettes.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "pippin/base/numbers/float16.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/compress/kernels_here.h"
#include "pippin/compress/levels.h"
#include "pippin/compress/palette_entries.h"

namespace pippin::compress {
namespace {

constexpr int64_t kFittedChannels = 64;  // of a palette, at most
constexpr int64_t kChannelsAtOnce = 8;
constexpr int64_t kColumns = 256;  // of H at a time: the sums of all entries stay in the cache

// curve * change = slope has the change of the entries: with S the 0/1 matrix of a channel's codes,
// the sums over channels of S^T H S and S^T H (w - q).
struct NormalEquations {
  explicit NormalEquations(size_t entries) : slope(entries), curve(entries * entries) {}

  void add(const NormalEquations& other) {
    for (size_t i = 0; i < slope.size(); ++i) slope[i] += other.slope[i];
    for (size_t i = 0; i < curve.size(); ++i) curve[i] += other.curve[i];
  }
  // The change of the error if the entries change.
  double gain(std::span<const double> change) const {
    double sum = 0;
    for (size_t i = 0; i < slope.size(); ++i) {
      sum -= 2 * slope[i] * change[i];
      for (size_t j = 0; j < slope.size(); ++j) {
        sum += change[i] * curve[i * slope.size() + j] * change[j];
      }
    }
    return sum;
  }
  std::vector<double> solution() const;

  std::vector<double> slope, curve;
};

// Entries without codes do not change.
std::vector<double> NormalEquations::solution() const {
  const size_t n = slope.size();
  std::vector<double> lower = curve, x = slope;
  double trace = 0;
  for (size_t i = 0; i < n; ++i) trace += curve[i * n + i];
  for (size_t i = 0; i < n; ++i) {
    lower[i * n + i] += 1e-7 * trace;
    if (curve[i * n + i] > 0) continue;
    lower[i * n + i] = 1;
    x[i] = 0;
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double sum = lower[i * n + j];
      for (size_t k = 0; k < j; ++k) sum -= lower[i * n + k] * lower[j * n + k];
      if (i != j) {
        lower[i * n + j] = sum / lower[j * n + j];
      } else if (sum > 0) {
        lower[i * n + i] = std::sqrt(sum);
      } else {
        return std::vector<double>(n);
      }
    }
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) x[i] -= lower[i * n + k] * x[k];
    x[i] /= lower[i * n + i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) x[i] -= lower[k * n + i] * x[k];
    x[i] /= lower[i * n + i];
  }
  return x;
}

// Some channels with one palette.
struct Portion {
  int64_t group, first, count;
};

class PaletteFit {
 public:
  explicit PaletteFit(const CodedMatrix& of)
      : of_(of), entries_(size_t{1} << of.encoding.bits), rows_(of, kChannelsAtOnce) {}

  NormalEquations equations(const Portion& portion) {
    NormalEquations result(entries_);
    rows_.load(portion.first, portion.count);
    rows_.compute_gradients();
    const int64_t inputs = of_.view.inputs();
    for (int64_t r = 0; r < portion.count; ++r) {
      const float* gradients = rows_.gradients(r);
      for (int64_t i = 0; i < inputs; ++i) {
        result.slope[rows_.code(r, i)] += double{gradients[i]};
      }
    }
    for (int64_t column = 0; column < inputs; column += kColumns) {
      add_columns(portion.count, column, std::min(kColumns, inputs - column), result);
    }
    return result;
  }

 private:
  // `sums` has S^T H of each channel for these columns.
  void add_columns(int64_t channels, int64_t first, int64_t count, NormalEquations& result) {
    sums_.assign(static_cast<size_t>(channels * count) * entries_, 0.0f);
    const auto sums_of = [&](int64_t channel, size_t entry) {
      return sums_.data() +
             (static_cast<size_t>(channel) * entries_ + entry) * static_cast<size_t>(count);
    };
    float row[kColumns];
    constexpr float kOne = 1;
    for (int64_t input = 0; input < of_.view.inputs(); ++input) {
      of_.feedback.copy_row(input, first, count, row);
      for (int64_t r = 0; r < channels; ++r) {
        kernels_here().add_products(&kOne, row, 0, 1, count, sums_of(r, rows_.code(r, input)));
      }
    }
    for (int64_t r = 0; r < channels; ++r) {
      for (size_t entry = 0; entry < entries_; ++entry) {
        const float* sums = sums_of(r, entry);
        double* curve = result.curve.data() + entry * entries_;
        for (int64_t i = 0; i < count; ++i) curve[rows_.code(r, first + i)] += double{sums[i]};
      }
    }
  }

  const CodedMatrix& of_;
  size_t entries_;
  RowsOfCodes rows_;
  std::vector<float> sums_;
};

std::vector<Portion> portions_of(const MatrixView& view) {
  std::vector<Portion> portions;
  for (int64_t group = 0; group < view.channels() / view.group(); ++group) {
    const int64_t size = view.group(), begin = group * size;
    // Of many channels, a part at each of evenly spaced places.
    const int64_t parts =
        std::min((size + kChannelsAtOnce - 1) / kChannelsAtOnce, kFittedChannels / kChannelsAtOnce);
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t first = size * part / parts, end = size * (part + 1) / parts;
      portions.push_back({group, begin + first, std::min(kChannelsAtOnce, end - first)});
    }
  }
  return portions;
}

// Replaces the palette of a group, with its codes.
void replace_palette(const CodedMatrix& of, int64_t group, const NormalEquations& equations) {
  const size_t entries = size_t{1} << of.encoding.bits;
  const size_t index = of.view.block_index(group * of.view.group(), 0);
  const Levels levels(of.result, of.encoding, index, of.type);
  const std::vector<double> change = equations.solution();
  std::vector<std::pair<float, size_t>> wanted;
  std::vector<double> before;
  wanted.reserve(entries);
  before.reserve(entries);
  for (size_t i = 0; i < entries; ++i) {
    before.push_back(double{levels.value(static_cast<uint8_t>(i))});
    const auto value = static_cast<float>(before[i] + change[i]);
    if (!std::isfinite(value)) return;
    wanted.emplace_back(of.type == mil::DataType::Float16 ? to_float(to_float16(value)) : value, i);
  }
  std::stable_sort(wanted.begin(), wanted.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<float> stored, weights;
  stored.reserve(entries);
  weights.reserve(entries);
  for (const auto& [value, old] : wanted) {
    stored.push_back(value);
    weights.push_back(static_cast<float>(equations.curve[old * (entries + 1)]));
  }
  std::vector<float> values = stored;
  float scale = 1;
  if (of.encoding.int8_lut) {
    const IntegerEntries rounded = integer_entries(stored, weights, of.type);
    scale = rounded.scale;
    for (size_t i = 0; i < entries; ++i) {
      stored[i] = static_cast<float>(rounded.integers[i]);
      values[i] = entry_value(stored[i], scale, of.type);
    }
  }
  std::vector<double> made(entries);
  std::vector<uint8_t> renumbered(entries);
  for (size_t i = 0; i < entries; ++i) {
    const size_t old = wanted[i].second;
    made[old] = double{values[i]} - before[old];
    renumbered[old] = static_cast<uint8_t>(i);
  }
  if (!(equations.gain(made) < 0)) return;
  std::copy(stored.begin(), stored.end(),
            of.result.luts.begin() + static_cast<ptrdiff_t>(index * entries));
  if (of.encoding.int8_lut) of.result.scales[index] = scale;
  for (int64_t c = group * of.view.group(); c < (group + 1) * of.view.group(); ++c) {
    for (int64_t i = 0; i < of.view.inputs(); ++i) {
      uint8_t& code = of.result.codes.codes()[of.view.place(c, i)];
      code = renumbered[code];
    }
  }
}

}  // namespace

void fit_palettes(const CodedMatrix& of, ThreadPool& pool) {
  const std::vector<Portion> portions = portions_of(of.view);
  const size_t entries = size_t{1} << of.encoding.bits;
  const auto groups = static_cast<size_t>(of.view.channels() / of.view.group());
  std::vector<NormalEquations> parts(portions.size(), NormalEquations(entries));
  pool.run([&](int part, int count) {
    PaletteFit fit(of);
    for (auto i = static_cast<size_t>(part); i < portions.size(); i += static_cast<size_t>(count)) {
      check_cancel();
      parts[i] = fit.equations(portions[i]);
    }
  });
  std::vector<NormalEquations> sums(groups, NormalEquations(entries));
  for (size_t i = 0; i < portions.size(); ++i) {
    sums[static_cast<size_t>(portions[i].group)].add(parts[i]);
  }
  for (size_t group = 0; group < groups; ++group) {
    replace_palette(of, static_cast<int64_t>(group), sums[group]);
  }
}

}  // namespace pippin::compress
