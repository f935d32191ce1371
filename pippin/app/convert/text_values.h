// Intermediate values of a language model while it reads a text.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "pippin/app/convert/calibration.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/plan.h"
#include "pippin/runtime/stateful/model.h"

namespace pippin::app {

class TextReader {
 public:
  // `model` must outlive this. Throws Unsupported for anything except a language model of the
  // stateful family whose mask grows with the sequence.
  TextReader(const mil::Model& model, const CalibrationOptions& options);

  // Reads the ids of each text, window by window. After each run, calls `take` for every value of
  // `wanted`; its elements are the execution's output of that index. Polls check_cancel().
  using Take = std::function<void(size_t index, const engine::Execution& execution)>;
  void read(std::span<const std::vector<int32_t>> texts, const std::vector<const mil::Var*>& wanted,
            const Take& take);

  ThreadPool& pool() { return pool_; }

 private:
  const mil::Model& model_;
  CalibrationOptions options_;
  ThreadPool pool_;
  runtime::StatefulSchema schema_;
};

}  // namespace pippin::app
