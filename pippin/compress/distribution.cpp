#include "pippin/compress/distribution.h"

#include <algorithm>
#include <utility>

#include "pippin/base/numbers/float16.h"

namespace pippin::compress {

Distribution Float16Counter::take() {
  counts_[0] += counts_[0x8000];
  counts_[0x8000] = 0;
  Distribution result;
  const auto append = [&](size_t bits) {
    if (counts_[bits] == 0) return;
    result.values.push_back(to_float(float16{static_cast<uint16_t>(bits)}));
    result.weights.push_back(static_cast<float>(counts_[bits]));
    counts_[bits] = 0;
  };
  for (size_t bits = 65536; bits-- > 0x8000;) append(bits);  // negative: larger bits are less
  for (size_t bits = 0; bits < 0x8000; ++bits) append(bits);
  return result;
}

Distribution merged(Distribution result, size_t limit) {
  if (result.values.size() <= limit) return result;
  Distribution merged;
  const size_t count = result.values.size();
  for (size_t group = 0; group < limit; ++group) {
    double sum = 0, weight = 0;
    for (size_t i = count * group / limit; i < count * (group + 1) / limit; ++i) {
      sum += double{result.values[i]} * double{result.weights[i]};
      weight += double{result.weights[i]};
    }
    merged.values.push_back(static_cast<float>(sum / weight));
    merged.weights.push_back(static_cast<float>(weight));
  }
  return merged;
}

Distribution weighted_distribution(std::vector<std::pair<float, float>> values, size_t limit) {
  std::sort(values.begin(), values.end());
  Distribution result;
  for (const auto& [value, weight] : values) {
    if (!result.values.empty() && result.values.back() == value) {
      result.weights.back() += weight;
    } else {
      result.values.push_back(value);
      result.weights.push_back(weight);
    }
  }
  return merged(std::move(result), limit);
}

Distribution distribution_of(std::vector<float> values, size_t limit) {
  std::sort(values.begin(), values.end());
  Distribution result;
  for (const float value : values) {
    if (!result.values.empty() && result.values.back() == value) {
      ++result.weights.back();
    } else {
      result.values.push_back(value);
      result.weights.push_back(1);
    }
  }
  return merged(std::move(result), limit);
}

}  // namespace pippin::compress
