// The state that the sequences of a bundle of CoreML-LLM share: its packages and tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/runtime/coreml_llm/files.h"
#include "pippin/runtime/coreml_llm/tables.h"
#include "pippin/runtime/load_options.h"
#include "pippin/runtime/package/fixed_part.h"
#include "pippin/runtime/package/folder.h"
#include "pippin/runtime/package/lanes.h"

namespace pippin::runtime {

// An array that the runtime computes for a token.
enum class CoreMlLlmInput : uint8_t {
  Hidden,
  LayerRow,
  FullMask,
  SlidingMask,
  UpdateMask,
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

  PackageFolder folder;  // keeps the unpacked files
  ThreadPool& pool;
  LoadOptions options;
  CoreMlLlmSizes sizes;
  QuantizedTable tokens, layers;
  std::vector<AngleTable> angles;  // CosSliding to SinFull
  std::vector<CoreMlLlmChunk> chunks;
  size_t token = 0;  // outputs of the last chunk
  std::optional<size_t> logit;
  int64_t context = 0;

 private:
  // Adds the functions that do not run to `unused`.
  void open(size_t index, const std::string& stem, std::vector<std::string>& unused);
  void connect(size_t index);
  void connect_input(size_t index, size_t port);
  void find_choice();  // the outputs of the last chunk
  // The elements that a given input must have.
  int64_t elements_of(CoreMlLlmInput kind) const;

  Lanes lanes_;
};

}  // namespace pippin::runtime
