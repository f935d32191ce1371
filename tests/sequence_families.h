// For tests: a small model of every family whose sequences behave differently.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "pippin/base/testing.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/family/windowed.h"
#include "pippin/models/models_testing.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/open/loaded_model.h"
#include "pippin/runtime/sequence.h"
#include "tests/tiny_model.h"

namespace pippin::sequence_families {

namespace fs = std::filesystem;
using namespace testing_models;
using runtime::LoadOptions;
using runtime::Model;

inline constexpr int64_t kWindow = 4, kRotatingWindow = 7;

inline fs::path demo() {
  return source_dir() / "pippin/demo/model";
}

struct Family {
  const char* name;
  std::function<std::shared_ptr<Model>(const fs::path& scratch, const LoadOptions& options)> open;
  // The smallest count, other than 0, that a sequence of `count` tokens can go back to, and the
  // reason.
  std::function<int64_t(int64_t count)> earliest;
  const char* reason = "";
  bool shares_passes = true;

  std::shared_ptr<Model> load(const fs::path& scratch,
                              const engine::ComputeOptions& compute = {}) const {
    LoadOptions options;
    options.threads = 1;
    options.compute = compute;
    return open(scratch, options);
  }
};

inline void PrintTo(const Family& family, std::ostream* out) {
  *out << family.name;
}

inline int64_t anywhere(int64_t /*count*/) {
  return 0;
}

inline int64_t nowhere(int64_t count) {
  return count;
}

inline std::shared_ptr<Model> load_packages(const fs::path& folder, const LoadOptions& options) {
  return runtime::make_runnable(runtime::find_packages(folder), options).model;
}

inline LoadOptions with_low_memory(LoadOptions options) {
  options.low_memory = true;
  return options;
}

inline std::shared_ptr<Model> load_windowed(const fs::path& scratch, const LoadOptions& options) {
  models::WindowedOptions form;
  form.window = kWindow;
  form.cache = 28;
  for (const auto& part : models::Windowed(demo(), form).parts()) {
    mil::write_package(part.model, scratch / (part.stem + ".mlpackage"));
  }
  return load_packages(scratch, options);
}

inline LoadOptions one_thread() {
  LoadOptions options;
  options.threads = 1;
  return options;
}

inline std::shared_ptr<Model> load_recorded(const fs::path& folder,
                                            const LoadOptions& options = one_thread()) {
  return runtime::make_runnable(models::build(folder, {.context = 32}), options).model;
}

inline std::shared_ptr<Model> load_random(const fs::path& scratch, const std::string& config,
                                          const LoadOptions& options = one_thread()) {
  models::write_random_model(scratch, R"({"vocab_size": 40, "hidden_size": 16,
      "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, )" +
                                          config + "}");
  return load_recorded(scratch, options);
}

// With the arithmetic of stored values, in which prompts and single tokens agree.
inline LoadOptions with_cache(LoadOptions options, engine::CacheType type) {
  options.cache_type = type;
  options.compute.precision = engine::Precision::Exact;
  return options;
}

inline const Family kFamilies[] = {
    {"stateful",
     [](const fs::path&, const LoadOptions& options) { return load_recorded(demo(), options); },
     anywhere},
    {"package",
     [](const fs::path& scratch, const LoadOptions& options) {
       mil::write_package(models::build(demo(), {.context = 32}), scratch / "m.mlpackage");
       return load_packages(scratch / "m.mlpackage", options);
     },
     anywhere},
    {"carried",
     [](const fs::path& scratch, const LoadOptions& options) {
       return load_random(scratch, R"("model_type": "lfm2", "num_key_value_heads": 2,
                                      "full_attn_idxs": [0])",
                          options);
     },
     nowhere, "the model carries a state from each token to the next"},
    {"recurrent",
     [](const fs::path& scratch, const LoadOptions& options) {
       return load_random(scratch, R"("model_type": "mamba2", "num_heads": 4, "head_dim": 8,
                                      "n_groups": 2, "state_size": 6)",
                          options);
     },
     nowhere, "the model carries a state from each token to the next"},
    {"dynamic",
     [](const fs::path& scratch, const LoadOptions& options) {
       return load_random(scratch, R"("model_type": "llama", "max_position_embeddings": 8,
                                      "rope_scaling": {"type": "dynamic", "factor": 4.0})",
                          options);
     },
     [](int64_t count) { return count > 8 ? count : 0; },
     "a sequence of this length has other positions"},
    {"anemll",
     [](const fs::path& scratch, const LoadOptions& options) {
       write_anemll(scratch);
       return load_packages(scratch, options);
     },
     anywhere},
    {"anemll_low_memory",
     [](const fs::path& scratch, const LoadOptions& options) {
       write_anemll(scratch);
       return load_packages(scratch, with_low_memory(options));
     },
     anywhere},
    {"anemll_rotating",
     [](const fs::path& scratch, const LoadOptions& options) {
       write_anemll(scratch, {.rotated_offset = 0.5});
       write_text(scratch / "meta.yaml",
                  "model_info:\n  name: anemll-tiny-ctx32\n  parameters:\n"
                  "    context_length: 32\n    batch_size: 4\n    num_chunks: 2\n"
                  "    model_prefix: tiny\n    embeddings: tiny_embeddings_lut6\n"
                  "    lm_head: tiny_lm_head.mlmodelc\n    ffn: tiny_FFN_PF_lut6\n"
                  "    sliding_window: 7\n    update_mask_prefill: true\n");
       return load_packages(scratch, options);
     },
     [](int64_t count) { return count > kRotatingWindow ? count : 0; },
     "its sliding window has overwritten earlier tokens"},
    {"windowed",
     [](const fs::path& scratch, const LoadOptions& options) {
       return load_windowed(scratch, options);
     },
     [](int64_t count) { return count / kWindow * kWindow; },
     "the windows before are in the cache as a whole"},
    {"windowed_low_memory",
     [](const fs::path& scratch, const LoadOptions& options) {
       return load_windowed(scratch, with_low_memory(options));
     },
     [](int64_t count) { return count / kWindow * kWindow; },
     "the windows before are in the cache as a whole", false},
};

// With quantized caches, on the CPU only.
inline const Family kCacheFamilies[] = {
    {"q8",
     [](const fs::path&, const LoadOptions& options) {
       return load_recorded(demo(), with_cache(options, engine::CacheType::Q8));
     },
     anywhere},
    {"q4",
     [](const fs::path&, const LoadOptions& options) {
       return load_recorded(demo(), with_cache(options, engine::CacheType::Q4));
     },
     anywhere},
    {"q8_windows",
     [](const fs::path& scratch, const LoadOptions& options) {
       return load_random(scratch, R"("model_type": "gemma3_text", "num_key_value_heads": 2,
                                      "head_dim": 32, "sliding_window": 7,
                                      "sliding_window_pattern": 2)",
                          with_cache(options, engine::CacheType::Q8));
     },
     anywhere},
};

}  // namespace pippin::sequence_families
