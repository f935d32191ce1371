// The schema of a `windowed` model: how its packages fit together, found by their declarations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/mil/model.h"

namespace pippin::runtime {

// An input of a chunk that is filled from another chunk's output.
struct WindowedRoute {
  std::string input;
  size_t chunk = 0;  // the last chunk before that has the output
  std::string output;
};

// A block's pair of caches: inputs of a chunk, and the columns that the cache processor appends.
struct WindowedBlock {
  std::string k, v;          // inputs
  std::string new_k, new_v;  // outputs
};

struct WindowedChunk {
  std::string function;
  std::string name;  // of the file, for messages
  std::vector<WindowedRoute> routes;
  std::vector<WindowedBlock> blocks;
};

struct WindowedSchema {
  std::vector<WindowedChunk> chunks;
  std::string ids, length;                      // inputs of the first chunk
  int64_t window = 0;                           // tokens per run
  int64_t context = 0;                          // window and cache together
  int64_t width = 0;                            // of x
  std::vector<std::string> logits;              // outputs of the last chunk, in order
  std::vector<int64_t> cache_shape, new_shape;  // of all k caches; empty without
  std::vector<int64_t> v_cache_shape, v_new_shape;
};

struct NamedDescription {
  std::string name;  // the file's name
  const mil::FunctionDescription* function = nullptr;
};

// Throws InvalidFile, naming both files, if shapes contradict each other, and for an input of a
// chunk that no earlier chunk produces; Unsupported for packages of other families.
WindowedSchema windowed_schema(const std::vector<NamedDescription>& chunks,
                               const NamedDescription& cache_processor);

}  // namespace pippin::runtime
