// Packages of CoreML-LLM's bundle that run one after another (families/coreml_llm.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/runtime/load_options.h"
#include "pippin/runtime/package/fixed_part.h"
#include "pippin/runtime/package/folder.h"

namespace pippin::runtime {

// An array that the runtime computes for a token, or for those of a batch.
enum class CoreMlLlmInput : uint8_t {
  Hidden,
  LayerRow,
  FullMask,
  SlidingMask,
  UpdateMask,
  BatchMask,
  LastMask,
  CosSliding,
  SinSliding,
  CosFull,
  SinFull
};

struct CoreMlLlmChunk {
  struct Given {
    CoreMlLlmInput kind;
    size_t input;
  };
  struct Route {
    size_t input, chunk, output;  // of an earlier chunk
  };
  struct Cache {
    size_t input, output;
  };
  std::unique_ptr<FixedPart> part;
  std::vector<Given> given;
  std::vector<Route> routes;
  std::vector<Cache> caches;
};

class CoreMlLlmChunks {
 public:
  // Opens and plans the packages. Adds the functions that do not run to `unused`. Throws NotFound,
  // Unsupported for states, and the errors of reading and planning.
  CoreMlLlmChunks(PackageFolder& folder, std::span<const std::string> stems, ThreadPool& pool,
                  const LoadOptions& options, std::vector<std::string>& unused);

  // Finds what their inputs take. `elements` returns how many elements an array has, 0 for arrays
  // that do not exist. Throws InvalidFile if they do not fit together.
  void connect(const std::function<int64_t(CoreMlLlmInput)>& elements);

  // Runs a chunk: `fill` computes the arrays that the runtime gives. Its caches stay as they were.
  template <typename Fill>
  void run(size_t index, size_t lane, const Fill& fill) {
    const CoreMlLlmChunk& chunk = chunks_[index];
    for (const auto& given : chunk.given) fill(given.kind, chunk.part->input(given.input, lane));
    copy_routes(chunk, lane);
    chunk.part->execution().run(lane);
  }

  size_t size() const { return chunks_.size(); }
  const CoreMlLlmChunk& operator[](size_t index) const { return chunks_[index]; }
  FixedPart& part(size_t index) const { return *chunks_[index].part; }
  auto begin() const { return chunks_.begin(); }
  auto end() const { return chunks_.end(); }

  // The token that the last run chose, and its logit, 0 if the chunks do not tell. Throws
  // InvalidFile for a token outside the vocabulary.
  struct Choice {
    int32_t token;
    float logit;
  };
  Choice choice(size_t lane, int64_t vocabulary) const;

 private:
  void connect_input(size_t index, size_t port,
                     const std::function<int64_t(CoreMlLlmInput)>& elements);
  void copy_routes(const CoreMlLlmChunk& chunk, size_t lane) const;
  void find_choice();  // the outputs of the last chunk

  std::vector<CoreMlLlmChunk> chunks_;
  size_t token_ = 0;  // outputs of the last chunk
  std::optional<size_t> logit_;
};

}  // namespace pippin::runtime
