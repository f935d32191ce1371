// Inputs generated from a seed, the same on every machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "pippin/api/model.h"

namespace pippin::cli {

using Shapes = std::map<std::string, std::vector<int64_t>, std::less<>>;

// Adds every input of the function that `values` lacks, including optional ones, with the declared
// type and the shape in `shapes` or else the default shape. Floats are from 0 (inclusive) to 1
// (exclusive), so that logarithms and roots have a value; integers 0 or 1, which index any table of
// two entries; pixels whole numbers from 0 to 255. A string, a key of a dictionary or a category is
// one of those that the model in `package` knows. Each input depends on the seed and its own name
// only. Throws InvalidArgument for a shape of an unknown input, LimitExceeded beyond max_elements,
// and Unsupported for inputs that are not tensors and have no known values.
void add_random_inputs(const Function& function, const std::filesystem::path& package,
                       uint64_t seed, const Shapes& shapes, int64_t max_elements, Values& values);

}  // namespace pippin::cli
