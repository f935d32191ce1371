#include "pippin/app/unit_vector.h"

#include <cmath>

#include "pippin/base/error.h"

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

void shorten_all(std::vector<std::vector<float>>& vectors, int64_t dimensions) {
  if (dimensions == 0) return;
  for (std::vector<float>& vector : vectors) {
    if (dimensions < 0 || dimensions > std::ssize(vector)) {
      fail(ErrorCode::InvalidArgument, "{} dimensions: the model's embeddings have {}", dimensions,
           vector.size());
    }
    shorten(vector, static_cast<size_t>(dimensions));
  }
}

}  // namespace pippin::app
