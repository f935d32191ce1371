// Embeddings as vectors of length 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pippin::app {

// The Euclidean length.
double length_of(std::span<const float> vector);

// Normalizes to length 1; a zero vector stays.
void normalize(std::vector<float>& vector);

// Keeps the first `count` numbers and normalizes again; unchanged if it has no more.
void shorten(std::vector<float>& vector, size_t count);

// Shortens each vector to `dimensions` numbers; 0: none. Throws InvalidArgument, naming both
// numbers, for vectors that do not have as many.
void shorten_all(std::vector<std::vector<float>>& vectors, int64_t dimensions);

}  // namespace pippin::app
