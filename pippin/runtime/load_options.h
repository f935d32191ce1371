// Options for loading a language model. All families share one struct; each uses the fields that
// apply.
#pragma once

#include <cstdint>
#include <string>

#include "pippin/engine/compute_options.h"

namespace pippin {
enum class Pinning : uint8_t;  // base/threads/thread_pool.h; the first is Auto
}

namespace pippin::runtime {

enum class PrefillMode {
  Auto,     // in batches, if meta.yaml says that this is safe
  Batches,  // in batches, if there is a function for them
  Steps,    // token by token
};

constexpr int64_t kPromptRun = 256;

struct LoadOptions {
  int64_t context = 0;  // 0: the model's, which is also the maximum
  int threads = 0;      // 0: one per core
  Pinning pinning = Pinning{};
  bool low_memory = false;  // load the packages of a model one at a time
  bool slide = false;       // a windowed model continues past its context
  PrefillMode prefill = PrefillMode::Auto;
  // The most prompt tokens per run, if the program allows a choice. 0: the package's own number
  // (families/stateful.h, kPromptRunKey), else kPromptRun.
  int64_t prefill_chunk = 0;
  // The adapter whose functions are used; for a checkpoint's folder, the adapter's folder. Empty:
  // none.
  std::string adapter = {};
  // A file with the chat template, or a tokenizer_config.json. Empty: the model's own template.
  std::string chat_template = {};
  engine::ComputeOptions compute = {};

  int64_t prompt_run(int64_t preferred = kPromptRun) const {
    return prefill_chunk == 0 ? preferred : prefill_chunk;
  }
};

}  // namespace pippin::runtime
