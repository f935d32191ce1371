// The constants of a program that are weights, and the roles of their axes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pippin/mil/program.h"

namespace pippin::compress {

struct Weight {
  const mil::Operation* constant;  // its `const`
  size_t channel_axis;             // axis of scales and palettes
  size_t input_axis;               // axis of blocks
  bool is_table;                   // used by a gather
  bool is_head;                    // feeds an output with "logits" in its name, and no other weight
  std::vector<size_t> batch_axes = {};  // of several matrices, each compressed separately
};

// fp16 and fp32 constants of rank 2 or more that products (mil/ops/product.h) and gather use as
// weights, also in nested blocks, each once, in program order. The first use determines the axes.
std::vector<Weight> find_weights(const mil::Block& block);

}  // namespace pippin::compress
