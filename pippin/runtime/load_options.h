// How a language model is loaded: one struct for all families, each of which uses what applies.
#pragma once

#include <cstdint>
#include <string>

#include "pippin/engine/compute_options.h"

namespace pippin {
enum class Pinning : uint8_t;  // base/thread_pool.h; the first is Auto
}

namespace pippin::runtime {

enum class PrefillMode {
  Auto,     // in batches, if meta.yaml says that this is safe
  Batches,  // in batches, if there is a function for that
  Steps,    // token by token
};

constexpr int64_t kPromptRun = 256;

struct LoadOptions {
  int64_t context = 0;  // at most the model's; 0: the model's
  int threads = 0;      // 0: one per core
  Pinning pinning = Pinning{};
  bool low_memory = false;  // load the parts of a model of several packages one after another
  bool slide = false;       // a windowed model goes on past its context
  PrefillMode prefill = PrefillMode::Auto;
  // The most tokens of a prompt that one run takes, where there is a choice; 0: what the package
  // says (families/stateful.h, kPromptRunKey), else kPromptRun.
  int64_t prefill_chunk = 0;
  // The adapter whose functions to use; of a checkpoint's folder, the adapter's folder. Empty:
  // none.
  std::string adapter = {};
  // A file with the chat template, or a tokenizer_config.json; empty: the model's own.
  std::string chat_template = {};
  engine::ComputeOptions compute = {};

  int64_t prompt_run(int64_t preferred = kPromptRun) const {
    return prefill_chunk == 0 ? preferred : prefill_chunk;
  }
};

}  // namespace pippin::runtime
