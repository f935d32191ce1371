// The constants of a program that are weights, and what their axes mean.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pippin/mil/program.h"

namespace pippin::compress {

struct Weight {
  const mil::Operation* constant;  // its `const`
  size_t channel_axis;             // scales and palettes lie along it
  size_t input_axis;               // blocks lie along it
  bool is_table;                   // of a gather
  bool is_head;                    // feeds an output with "logits" in its name, and no other weight
  std::vector<size_t> batch_axes =
      {};  // of several matrices, each of which is compressed by itself
};

// fp16 and fp32 constants of rank 2 or more that products (mil/ops/product.h) and gather take as
// weights, in nested blocks too, each once, in the order of the program. The first use decides on
// the axes.
std::vector<Weight> find_weights(const mil::Block& block);

}  // namespace pippin::compress
