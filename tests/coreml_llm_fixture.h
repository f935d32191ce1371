// For the tests of CoreML-LLM's bundles: a checkpoint, bundles of it, and their texts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/app/open/open_model.h"
#include "pippin/base/testing.h"
#include "pippin/runtime/sequence.h"
#include "tests/coreml_llm_bundle.h"

namespace pippin::testing_coreml_llm {

using Ids = std::vector<int32_t>;

inline runtime::LoadedModel open(const std::filesystem::path& path) {
  app::ModelChoice choice;
  choice.path = path.string();
  choice.load.threads = 1;
  return app::open_model(choice);
}

inline int32_t best_of(std::span<const float> logits) {
  return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

// The greedy continuation, up to the context of the bundle.
inline Ids continuation(runtime::Sequence& sequence, const Ids& prompt) {
  Ids ids = {best_of(sequence.prefill(prompt))};
  while (sequence.position() < testing_models::kBundleContext) {
    ids.push_back(best_of(sequence.decode(ids.back())));
  }
  return ids;
}

inline Ids continuation(const std::filesystem::path& path, const Ids& prompt) {
  return continuation(*open(path).model->new_sequence(), prompt);
}

class CoreMlLlm : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(folder_ / "checkpoint");
    testing_models::write_bundle_checkpoint(folder_ / "checkpoint");
  }
  std::filesystem::path write(const char* name, testing_models::BundleLayout layout) {
    testing_models::write_bundle(folder_ / "checkpoint", folder_ / name, layout);
    return folder_ / name;
  }

  TempDir folder_;
};

}  // namespace pippin::testing_coreml_llm
