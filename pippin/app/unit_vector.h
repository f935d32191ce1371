// Embeddings as vectors of length 1.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace pippin::app {

// The Euclidean length.
double length_of(std::span<const float> vector);

// Of length 1, or 0 where it is 0.
void normalize(std::vector<float>& vector);

// Its first `count` numbers, of length 1 again; as it is where it has no more.
void shorten(std::vector<float>& vector, size_t count);

}  // namespace pippin::app
