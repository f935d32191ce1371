// The state that the sequences of a bundle of CoreML-LLM share: its packages and tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/runtime/coreml_llm/chunks.h"
#include "pippin/runtime/coreml_llm/files.h"
#include "pippin/runtime/coreml_llm/prefill.h"
#include "pippin/runtime/coreml_llm/tables.h"
#include "pippin/runtime/load_options.h"
#include "pippin/runtime/package/folder.h"
#include "pippin/runtime/package/lanes.h"

namespace pippin::runtime {

struct CoreMlLlmShared {
  // Throws the errors of make_coreml_llm_model().
  CoreMlLlmShared(PackageFolder given_folder, const CoreMlLlmFiles& files, ThreadPool& threads,
                  const LoadOptions& given);

  // Reserves a lane in every chunk for a sequence: its caches are inputs. The holder must return
  // it.
  size_t take_lane();
  void give_back_lane(size_t lane) { lanes_.give_back(lane); }
  // Of CosSliding to SinFull.
  const AngleTable& angles_of(CoreMlLlmInput kind) const {
    return angles[static_cast<size_t>(kind) - static_cast<size_t>(CoreMlLlmInput::CosSliding)];
  }

  // The number of first tokens of a prompt that run as a batch; 0: all run one by one.
  int64_t batch(int64_t tokens) const;

  PackageFolder folder;  // keeps the unpacked files
  ThreadPool& pool;
  LoadOptions options;
  CoreMlLlmSizes sizes;
  QuantizedTable tokens, layers;
  std::vector<AngleTable> angles;   // CosSliding to SinFull
  std::vector<std::string> unused;  // packages and functions that do not run
  CoreMlLlmChunks chunks;
  std::optional<CoreMlLlmPrefill> prefill;
  int64_t context = 0;

 private:
  // Its elements for a token: 0 for an array of batches only.
  int64_t elements_of(CoreMlLlmInput kind) const;
  void open_prefill(const CoreMlLlmFiles& files);

  Lanes lanes_;
};

}  // namespace pippin::runtime
