#include <cmath>
#include <numbers>

#include "pippin/base/error.h"
#include "pippin/mx/nn/layers.h"
#include "pippin/mx/ops/fast.h"

namespace pippin::mx::nn {
namespace {

// The periods of Llama 3: short ones stay, those longer than the original context are stretched,
// and those between are partly stretched.
array llama3_periods(const Config& config, int dims, double base) {
  const auto scaling = [&](const char* key, std::optional<double> otherwise = std::nullopt) {
    return config.number(std::string("rope_scaling.") + key, otherwise);
  };
  const double factor = scaling("factor"), low = scaling("low_freq_factor", 1),
               high = scaling("high_freq_factor", 4),
               length = scaling("original_max_position_embeddings", 8192);
  std::vector<float> periods;
  for (int i = 0; i < dims; i += 2) {
    const double period = std::pow(base, static_cast<double>(i) / dims);
    const double times = length / (2 * std::numbers::pi * period);
    double rate = 1 / period;
    if (times < low) {
      rate /= factor;
    } else if (times <= high) {
      const double part = (times - low) / (high - low);
      rate = (1 - part) * rate / factor + part * rate;
    }
    periods.push_back(static_cast<float>(1 / rate));
  }
  return array(periods, {static_cast<int64_t>(periods.size())});
}

}  // namespace

RoPE::RoPE(int rotated, bool neighbours, float rope_base, float rope_scale,
           const std::optional<array>& periods)
    : dims(rotated), traditional(neighbours), base(rope_base), scale(rope_scale), freqs(periods) {}

RoPE RoPE::of(const Config& config, int dims) {
  const double base = config.number("rope_theta", 10000);
  const std::string older = config.text("rope_scaling.type", "default");
  const std::string type = config.text("rope_scaling.rope_type", older);
  if (type == "llama3") {
    return RoPE(dims, false, 0, 1, llama3_periods(config, dims, base));
  }
  if (type == "default") return RoPE(dims, false, static_cast<float>(base));
  if (type == "linear") {
    return RoPE(dims, false, static_cast<float>(base),
                static_cast<float>(1 / config.number("rope_scaling.factor")));
  }
  fail(ErrorCode::Unsupported, "config.json: rope_scaling of type \"{}\" is not known", type);
}

array RoPE::operator()(const array& x, int offset) const {
  return (*this)(x, array(offset));
}

array RoPE::operator()(const array& x, const array& offset) const {
  if (freqs) return fast::rope(x, dims, traditional, std::nullopt, scale, offset, freqs);
  return fast::rope(x, dims, traditional, base, scale, offset);
}

}  // namespace pippin::mx::nn
