// The arrays that a model of sound takes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pippin::sound {

struct Features {
  std::string name;            // of the model's input: "input_features" or "input_values"
  std::vector<float> values;   // row-major
  std::vector<int64_t> shape;  // the first axis is the batch, of size 1
  std::string mask_name;       // "attention_mask" or another; empty without a mask
  std::vector<int32_t> mask;   // of shape (1, size): 1 for content, 0 for padding
};

}  // namespace pippin::sound
