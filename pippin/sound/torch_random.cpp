#include "pippin/sound/torch_random.h"

#include <cmath>
#include <numbers>
#include <random>

namespace pippin::sound {

namespace {

constexpr size_t kGroup = 16;

// Box and Muller's transform of a group of uniform numbers, of which the first half are radii, the
// second half angles.
void transform_group(float* group) {
  for (size_t i = 0; i < kGroup / 2; ++i) {
    const float radius = std::sqrt(-2 * std::log(1 - group[i]));
    const float angle = 2 * std::numbers::pi_v<float> * group[i + kGroup / 2];
    group[i] = radius * std::cos(angle);
    group[i + kGroup / 2] = radius * std::sin(angle);
  }
}

}  // namespace

std::vector<float> torch_normal(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  // 24 bits of each number.
  const auto uniform = [&] { return std::ldexp(static_cast<float>(random() & 0xffffff), -24); };
  std::vector<float> values(count);
  for (float& value : values) value = uniform();
  for (size_t i = 0; i + kGroup <= count; i += kGroup) transform_group(values.data() + i);
  if (count % kGroup != 0) {
    // The last group overlaps the one before.
    float* last = values.data() + count - kGroup;
    for (size_t i = 0; i < kGroup; ++i) last[i] = uniform();
    transform_group(last);
  }
  return values;
}

}  // namespace pippin::sound
