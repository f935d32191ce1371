// A windowed model's schema by port indices: names are looked up only once.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "pippin/runtime/package/fixed_part.h"
#include "pippin/runtime/windowed/schema.h"

namespace pippin::runtime {

struct WindowedPorts {
  // An input that is filled from an output of an earlier chunk.
  struct Route {
    size_t input, chunk, output;
    size_t kept;  // the output's index among those kept for later chunks
  };
  struct Block {
    size_t k, v;          // inputs
    size_t new_k, new_v;  // outputs
  };
  struct Chunk {
    std::vector<Route> routes;
    std::vector<Block> blocks;
    std::optional<size_t> hidden;  // its output for the next chunk
  };
  struct Processor {
    size_t old_k, old_v, new_k, new_v;
    size_t updated_k, updated_v;
  };

  // For parts whose programs are loaded.
  WindowedPorts(const WindowedSchema& schema, const std::vector<std::unique_ptr<FixedPart>>& parts,
                const FixedPart& cache_processor);

  size_t ids, length;  // inputs of the first chunk
  std::vector<Chunk> chunks;
  std::vector<size_t> logits;  // outputs of the last chunk
  Processor processor;
  size_t kept = 0;  // outputs that later chunks need
};

}  // namespace pippin::runtime
