// The inputs of a program's products with constant matrices, which calibration reads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/compress/input_statistics.h"
#include "pippin/engine/plan.h"
#include "pippin/mil/model.h"

namespace pippin::app {

// The position of a dot product's inputs in an operation's operand.
struct ProductInput {
  const mil::Var* var;
  bool channels_first;  // (batch, inputs, positions...) as in conv, otherwise (..., inputs)
  int64_t size;
  std::string name;       // of the first weight that it is multiplied by
  bool is_table = false;  // the weight is also a table of embeddings
};

struct ProductInputs {
  // Of linear, of 1x1 conv, and of matmul with a constant right operand. A table of embeddings must
  // have the head's channels as its rows.
  explicit ProductInputs(const mil::Model& model);

  // Null for a weight without known inputs.
  const ProductInput* find(const std::string& weight) const;

  std::map<std::string, ProductInput> by_weight;
  std::vector<std::string> order;  // of the weights
};

// Adds an output of a run, which is the value of the input.
void add_output(const ProductInput& input, const engine::Execution& execution, size_t output,
                ThreadPool& pool, compress::InputMoments& moments);

// Returns the moments with which the weight of an input is compressed: for a table that is also the
// head with the importance of its rows for themselves.
std::shared_ptr<const compress::InputMoments> weighted_moments(
    const ProductInput& input, std::shared_ptr<const compress::InputMoments> moments);

}  // namespace pippin::app
