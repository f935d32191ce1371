#include "pippin/app/unit_vector.h"

#include <cmath>

namespace pippin::app {

double length_of(std::span<const float> vector) {
  double sum = 0;
  for (const float x : vector) sum += double{x} * x;
  return std::sqrt(sum);
}

void normalize(std::vector<float>& vector) {
  const double length = length_of(vector);
  const double scale = length > 0 ? 1 / length : 0;
  for (float& x : vector) x = static_cast<float>(x * scale);
}

void shorten(std::vector<float>& vector, size_t count) {
  if (count >= vector.size()) return;
  vector.resize(count);
  normalize(vector);
}

}  // namespace pippin::app
