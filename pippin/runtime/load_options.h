// How a language model is loaded: one struct for all families, which take from it what they know.
#pragma once

#include <cstdint>
#include <string>

#include "pippin/engine/compute_options.h"

namespace pippin {
enum class Pinning : uint8_t;  // base/thread_pool.h; the first is Auto
}

namespace pippin::runtime {

enum class PrefillMode {
  Auto,     // in batches, unless meta.yaml does not say that this is safe
  Batches,  // where there is a function for it
  Steps,    // token by token
};

struct LoadOptions {
  int64_t context = 0;  // at most the model's; 0: the model's
  int threads = 0;      // 0: as many as there are cores
  Pinning pinning = Pinning{};
  bool low_memory = false;  // parts of a model in several packages one after another
  bool slide = false;       // a windowed model goes on past its context
  PrefillMode prefill = PrefillMode::Auto;
  // Most tokens of a prompt that one run takes, where there is a choice.
  int64_t prefill_chunk = 256;
  std::string adapter = {};  // whose functions to use; empty: the model's own
  engine::ComputeOptions compute = {};
};

}  // namespace pippin::runtime
