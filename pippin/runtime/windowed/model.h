// The `windowed` family (coreml-llm-cli's): chunks whose caches are inputs and outputs.
//
//   PREFIX_chunk1     token ids (.., W), full_sequence_length
//                     -> x and what all chunks share (cos, sin, mask)
//   PREFIX_chunkI     x, the shared arrays, k_cache_i, v_cache_i
//                     -> new_x, new_k_cache_i, new_v_cache_i
//   PREFIX_chunkN     x -> logits, or logits_0, logits_1, ...
//   cache-processor   old_k_cache, new_k_cache, old_v_cache, new_v_cache
//                     -> updated_k_cache, updated_v_cache
//   logit-processor   the logits' names -> argmax (may be missing)
//
// A run computes the window of the last ((n - 1) mod W) + 1 tokens, left-aligned, over the caches
// of the full windows before it. When a window is full, the cache processor appends its columns on
// a separate thread, block by block, while later chunks compute; a chunk's next use waits for it.
// Arrays are routed by name: those with `cache` in their names belong to their chunk, all others
// are shared, and new_x is the next x.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/runtime/load_options.h"
#include "pippin/runtime/model.h"
#include "pippin/runtime/package/folder.h"

namespace pippin::runtime {

// The stems of the packages in the folder.
struct WindowedFiles {
  std::string prefix;
  std::vector<std::string> chunks;               // in order
  std::string cache_processor, logit_processor;  // empty: missing
  int64_t positions = 0;                         // rows of the tables, from meta.json; 0: unknown
};

bool looks_like_windowed(const PackageFolder& folder);
// Throws InvalidArgument for several prefixes, NotFound for a missing chunk or cache processor.
WindowedFiles find_windowed_files(const PackageFolder& folder);

// The model keeps `folder`. `pool` must outlive the result. Throws InvalidFile for parts that do
// not fit together, and Unsupported.
std::shared_ptr<Model> make_windowed_model(PackageFolder folder, const WindowedFiles& files,
                                           ThreadPool& pool, const LoadOptions& options = {});

}  // namespace pippin::runtime
