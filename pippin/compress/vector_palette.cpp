#include "pippin/compress/vector_palette.h"

#include <algorithm>
#include <limits>
#include <random>

namespace pippin::compress {
namespace {

class KMeans {
 public:
  KMeans(std::span<const float> vectors, const VectorPaletteOptions& options)
      : vectors_(vectors),
        options_(options),
        size_(options.dimensions),
        count_(vectors.size() / options.dimensions) {}

  // Returns the error of the points, which are then in points().
  double run(uint64_t seed) {
    generator_.seed(seed);
    choose_seeds();
    double error = std::numeric_limits<double>::infinity();
    for (int turn = 0; turn < options_.iterations; ++turn) {
      const double before = error;
      error = step();
      if (error <= 0 || before - error < 1e-4 * error) break;
    }
    return error;
  }

  const std::vector<float>& points() const { return points_; }

 private:
  double random() { return static_cast<double>(generator_() >> 11) * 0x1p-53; }
  const float* vector(size_t i) const { return vectors_.data() + i * size_; }

  double distance(const float* a, const float* b) const {
    double sum = 0;
    for (size_t k = 0; k < size_; ++k) {
      sum += (double{a[k]} - double{b[k]}) * (double{a[k]} - double{b[k]});
    }
    return sum;
  }

  void choose_seeds() {
    points_.clear();
    std::vector<double> distances(count_, std::numeric_limits<double>::infinity());
    auto next = std::min(count_ - 1, static_cast<size_t>(random() * static_cast<double>(count_)));
    while (true) {
      const float* chosen = vector(next);
      points_.insert(points_.end(), chosen, chosen + size_);
      if (points_.size() == options_.entries * size_) return;
      double total = 0;
      for (size_t i = 0; i < count_; ++i) {
        distances[i] = std::min(distances[i], distance(vector(i), chosen));
        total += distances[i];
      }
      // If all vectors are seeds already, any one will do.
      double target = random() * total;
      next = 0;
      while (next + 1 < count_ && (target -= distances[next]) > 0) ++next;
    }
  }

  // One step of Lloyd's algorithm; returns the error before it. A point without vectors takes the
  // vector with the largest distance.
  double step() {
    const NearestVector nearest(points_, size_);
    std::vector<double> sums(points_.size());
    std::vector<size_t> members(options_.entries);
    double error = 0;
    float worst_distance = -1;
    size_t worst = 0;
    for (size_t i = 0; i < count_; ++i) {
      size_t index = 0;
      const float distance = nearest.squared_distance(vector(i), index);
      error += double{distance};
      ++members[index];
      for (size_t k = 0; k < size_; ++k) sums[index * size_ + k] += double{vector(i)[k]};
      if (distance > worst_distance) {
        worst_distance = distance;
        worst = i;
      }
    }
    for (size_t entry = 0; entry < options_.entries; ++entry) {
      for (size_t k = 0; k < size_; ++k) {
        float& value = points_[entry * size_ + k];
        if (members[entry] > 0) {
          value = static_cast<float>(sums[entry * size_ + k] / static_cast<double>(members[entry]));
        } else if (worst_distance > 0) {
          value = vector(worst)[k];
        }
      }
      if (members[entry] == 0) worst_distance = -1;  // one per step
    }
    return error;
  }

  std::span<const float> vectors_;
  const VectorPaletteOptions& options_;
  size_t size_, count_;
  std::mt19937_64 generator_;
  std::vector<float> points_;
};

}  // namespace

NearestVector::NearestVector(std::span<const float> palette, size_t dimensions)
    : entries_(palette.size() / dimensions), dimensions_(dimensions), columns_(palette.size()) {
  for (size_t entry = 0; entry < entries_; ++entry) {
    for (size_t k = 0; k < dimensions; ++k) {
      columns_[k * entries_ + entry] = palette[entry * dimensions + k];
    }
  }
}

float NearestVector::squared_distance(const float* vector, size_t& index) const {
  float distances[kMaxEntries] = {};
  for (size_t k = 0; k < dimensions_; ++k) {
    const float* column = columns_.data() + k * entries_;
    const float x = vector[k];
    for (size_t entry = 0; entry < entries_; ++entry) {
      distances[entry] += (x - column[entry]) * (x - column[entry]);
    }
  }
  const float* at = std::min_element(distances, distances + entries_);
  index = static_cast<size_t>(at - distances);
  return *at;
}

size_t NearestVector::operator()(const float* vector) const {
  size_t index = 0;
  squared_distance(vector, index);
  return index;
}

std::vector<float> vector_palette(std::span<const float> vectors,
                                  const VectorPaletteOptions& options) {
  const size_t count = vectors.size() / options.dimensions;
  std::vector<float> sample;
  if (count > options.max_vectors) {
    for (size_t i = 0; i < options.max_vectors; ++i) {
      const float* from = vectors.data() + i * count / options.max_vectors * options.dimensions;
      sample.insert(sample.end(), from, from + options.dimensions);
    }
    vectors = sample;
  }
  std::vector<float> best;
  double least = std::numeric_limits<double>::infinity();
  for (int restart = 0; restart < options.restarts; ++restart) {
    KMeans search(vectors, options);
    const double error = search.run(options.seed * 1000003 + static_cast<uint64_t>(restart));
    if (!best.empty() && error >= least) continue;
    least = error;
    best = search.points();
  }
  return best;
}

}  // namespace pippin::compress
