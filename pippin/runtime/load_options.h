// Options for loading a language model. All families share one struct; each uses the fields that
// apply.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/engine/cache_type.h"
#include "pippin/engine/compute_options.h"

namespace pippin {
enum class Pinning : uint8_t;  // base/threads/thread_pool.h; the first is Auto
}

namespace pippin::runtime {

// The mode of feeding prompts.
enum class PrefillMode {
  Auto,     // in batches, if meta.yaml says that this is safe
  Batches,  // in batches, if there is a function for them
  Steps,    // token by token
};

// LoadOptions::mmproj of a model that shall take no images.
inline constexpr std::string_view kNoProjector = "none";

constexpr int64_t kPromptRun = 256;  // the default for the most prompt tokens per run

// An adapter (LoRA, DoRA) that sequences choose: Sequence::set_adapters().
struct RunAdapter {
  std::string name;     // that of its folder or file if not given
  std::string path;     // a folder with adapter_config.json, or a GGUF file
  float scale = 1;      // the factor of its change
  bool applied = true;  // by sequences that choose none
};

// Options for loading a language model.
struct LoadOptions {
  // The most tokens of a sequence; 0: the model's, which is also the maximum.
  int64_t context = 0;
  int threads = 0;                          // the threads of computations; 0: one per core
  Pinning pinning = Pinning{};              // whether worker threads are pinned to cores
  bool low_memory = false;                  // load the packages of a model one at a time
  bool slide = false;                       // a windowed model continues past its context
  PrefillMode prefill = PrefillMode::Auto;  // the mode of feeding prompts
  // The most prompt tokens per run, if the program allows a choice. 0: the package's own number,
  // else kPromptRun.
  int64_t prefill_chunk = 0;
  // The form of the cache of keys and values. Others than F16 need a model with one package whose
  // cache only attention reads; loading others throws Unsupported.
  engine::CacheType cache_type = engine::CacheType::F16;
  // The adapter whose functions are used; for a checkpoint's folder, the adapter's folder. Empty:
  // none.
  std::string adapter = {};
  // Adapters of which each sequence says how much of their changes it adds.
  std::vector<RunAdapter> run_adapters = {};
  // For a GGUF file as the model: the file with its vision tower (mmproj-*.gguf). Empty: the only
  // one next to the model, or that of its repository; "none": images are not read.
  std::string mmproj = {};
  // For checkpoints of Whisper, a package of the encoder in whisper.cpp's Core ML form, used in
  // place of the checkpoint's own. Empty: none.
  std::string encoder = {};
  // Whether the model's multi-token prediction layer is used, if it has one: it makes drafts. It
  // takes part of the time of prompts, and a row of its cache per token.
  bool prediction = true;
  // A file with the chat template, or a tokenizer_config.json. Empty: the model's own template.
  std::string chat_template = {};
  engine::ComputeOptions compute = {};  // precision, device and more

  // Returns `prefill_chunk`, or the preferred number if that is 0.
  int64_t prompt_run(int64_t preferred = kPromptRun) const {
    return prefill_chunk == 0 ? preferred : prefill_chunk;
  }
};

}  // namespace pippin::runtime
