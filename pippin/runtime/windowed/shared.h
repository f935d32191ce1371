// The state that the sequences of a windowed model share: its packages, and the thread that updates
// caches.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/base/threads/worker.h"
#include "pippin/runtime/package/fixed_part.h"
#include "pippin/runtime/package/lanes.h"
#include "pippin/runtime/windowed/model.h"
#include "pippin/runtime/windowed/ports.h"
#include "pippin/runtime/windowed/schema.h"

namespace pippin::runtime {

struct WindowedShared {
  // Throws the errors of make_windowed_model().
  WindowedShared(PackageFolder given_folder, const WindowedFiles& files, ThreadPool& threads,
                 const LoadOptions& given_options);

  // Reserves a lane in every chunk for a sequence: its caches are inputs. The holder must return
  // it.
  size_t take_lane();
  void give_back_lane(size_t lane) { lanes_.give_back(lane); }
  const WindowedPorts& ports() const { return *ports_; }

  PackageFolder folder;  // keeps the unpacked files
  ThreadPool& pool;
  LoadOptions options;
  int64_t positions;      // rows of the model's tables; 0: unknown
  ThreadPool cache_pool;  // the worker's
  std::vector<std::unique_ptr<FixedPart>> chunks;
  std::unique_ptr<FixedPart> processor, logit_processor;
  WindowedSchema schema;
  std::vector<size_t> logit_inputs;  // of the logit processor
  size_t argmax = 0;                 // its output
  int64_t context = 0, vocab_size = 0;
  std::vector<int64_t> part_sizes;  // of the logits' parts

 private:
  std::unique_ptr<FixedPart> open(const std::string& stem, const engine::ComputeOptions& compute);
  void open_logit_processor(const std::string& stem);
  void find_vocabulary();

  std::optional<WindowedPorts> ports_;
  Lanes lanes_;

 public:
  Worker worker;  // last: its jobs use all of the above
};

}  // namespace pippin::runtime
