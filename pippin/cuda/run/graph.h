// Work of a timeline that was captured once and is queued again with one call.
#pragma once

#include <utility>

#include "pippin/cuda/run/timeline.h"

namespace pippin::cuda {

class CapturedGraph {
 public:
  // Captures what body() queues; the timeline's lock must be held.
  template <typename Body>
  static CapturedGraph capture(Timeline& timeline, const Body& body) {
    begin(timeline);
    try {
      body();
    } catch (...) {
      abandon(timeline);
      throw;
    }
    return CapturedGraph(timeline);
  }
  CapturedGraph(CapturedGraph&& other) noexcept
      : gpu_(other.gpu_), executable_(std::exchange(other.executable_, nullptr)) {}
  CapturedGraph& operator=(CapturedGraph&&) = delete;
  ~CapturedGraph();

  void launch(Timeline& timeline) const;

 private:
  explicit CapturedGraph(Timeline& timeline);  // ends the capture
  static void begin(Timeline& timeline);
  static void abandon(Timeline& timeline) noexcept;

  const Gpu* gpu_;
  GraphExec executable_ = nullptr;
};

}  // namespace pippin::cuda
