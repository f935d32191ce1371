// The chunks of CoreML-LLM's bundle for a batch: the first tokens of a prompt, whose keys and
// values become the caches of the chunks for single tokens (families/coreml_llm.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/runtime/coreml_llm/chunks.h"
#include "pippin/runtime/coreml_llm/files.h"
#include "pippin/runtime/load_options.h"
#include "pippin/runtime/package/folder.h"

namespace pippin::runtime {

class CoreMlLlmPrefill {
 public:
  // Features of the heads of sliding and of full layers, by which layers are told apart.
  struct Heads {
    int64_t sliding, full;
  };
  // `steps` are the chunks for single tokens, `elements` the arrays of a token (0: none). Throws
  // the errors of CoreMlLlmChunks, and InvalidFile for keys that are not those of the caches.
  CoreMlLlmPrefill(const CoreMlLlmFiles& files, const CoreMlLlmSizes& sizes, Heads heads,
                   CoreMlLlmChunks& steps, const std::function<int64_t(CoreMlLlmInput)>& elements,
                   ThreadPool& pool, const LoadOptions& options, std::vector<std::string>& unused);

  int64_t tokens() const { return tokens_; }  // of a batch
  CoreMlLlmChunks& chunks() { return chunks_; }

  // Writes the caches of a lane, which are zeros, for the first `count` tokens: at most tokens()
  // and a window. `fill` computes the arrays that the runtime gives. Without a choice of the next
  // token, chunks that have no keys do not run.
  template <typename Fill>
  void run(int64_t count, size_t lane, bool chooses, const Fill& fill) {
    for (size_t i = 0; i < (chooses ? chunks_.size() : with_keys_); ++i) {
      chunks_.run(i, 0, fill);
      copy_keys(i, count, lane);
    }
  }

 private:
  // The keys or values of a layer (1, heads, tokens, features), and their place in a cache (layers,
  // heads, rows, width).
  struct Rows {
    size_t chunk, output;
    int64_t features;
  };
  struct Cache {
    size_t chunk, input;
    int64_t layer, heads, rows, width;
  };
  struct Layer {
    Rows source;
    Cache target;
    bool slides;
  };

  void find_layers(const std::string& letter, bool slides, Heads heads, int64_t rows);
  std::vector<Rows> rows_of(const std::string& letter, bool slides, Heads heads);
  std::vector<Cache> caches_of(const std::string& name, int64_t rows);
  void copy_keys(size_t chunk, int64_t count, size_t lane);

  PackageFolder folder_;  // keeps the unpacked files
  CoreMlLlmChunks& steps_;
  CoreMlLlmChunks chunks_;
  int64_t tokens_ = 0;
  size_t with_keys_ = 0;  // the first chunks, up to the last one with keys
  std::vector<Layer> layers_;
};

}  // namespace pippin::runtime
