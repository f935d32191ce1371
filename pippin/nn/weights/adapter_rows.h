// The rows of an adapter's matrices that belong to the used rows of one of the model's: the
// converter to GGUF reorders rows of some matrices, those of adapters as well.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "pippin/nn/weights/lora.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct AdapterRows {
  int64_t stored;             // all
  std::vector<int64_t> rows;  // those that are used, in their order; empty: all
};
// `used`: the used rows of the model's matrix. Throws Unsupported, naming the module, if the rows
// of the adapter's form are in an order that is not known.
AdapterRows adapter_rows(const LoraAdapter& adapter, std::string_view module,
                         const WeightLayout& layout, int64_t used);

}  // namespace pippin::nn
