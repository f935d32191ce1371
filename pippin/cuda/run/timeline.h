// A stream: work that the GPU does in order, while the host goes on.
#pragma once

#include <atomic>
#include <mutex>
#include <span>
#include <vector>

#include "pippin/cuda/run/memory.h"

namespace pippin::cuda {

// Executions, states and uploads have one each, or share one. States move from one to another, and
// may be read by other threads than those that run: each group of calls holds lock().
class Timeline {
 public:
  explicit Timeline(GpuPointer gpu);
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;
  ~Timeline();

  std::unique_lock<std::recursive_mutex> lock() const { return std::unique_lock(mutex_); }
  const Gpu& gpu() const { return *gpu_; }
  Stream stream() const { return stream_; }

  // Queue work.
  void to_device(Address to, const void* pinned, uint64_t size);
  void to_host(void* pinned, Address from, uint64_t size);
  void inside(Address to, Address from, uint64_t size);
  void fill(Address to, unsigned char value, uint64_t size);
  void mark_busy() { is_busy_ = true; }  // after other calls that queue work

  // Waits for all queued work, if there is any.
  void synchronize();
  // The same, before memory is released: errors are ignored.
  void drain() noexcept;

  // Copy at once, by way of pinned memory of the timeline.
  struct Piece {
    std::byte* host;
    Address device;
    uint64_t size;
  };
  void download(std::span<const Piece> pieces);
  void upload(std::span<const Piece> pieces);  // reads the host's

 private:
  static constexpr uint64_t kStaging = uint64_t{4} << 20;
  void reserve_staging(std::span<const Piece> pieces);
  // Calls queue(part of a piece, its place in the staging buffer), and when that is full or all are
  // queued, synchronizes and calls ended() with the same parts.
  template <typename Queue, typename Ended>
  void in_parts(std::span<const Piece> pieces, const Queue& queue, const Ended& ended);

  GpuPointer gpu_;
  Stream stream_ = nullptr;
  mutable std::recursive_mutex mutex_;
  std::atomic<bool> is_busy_ = false;
  PinnedMemory staging_;
};

// A place in a timeline.
class Mark {
 public:
  explicit Mark(GpuPointer gpu);
  Mark(Mark&& other) noexcept;
  Mark& operator=(Mark&&) = delete;
  ~Mark();

  void set(Timeline& timeline);
  // Until the GPU has come here; not at all if it was not set since.
  void wait();

 private:
  GpuPointer gpu_;
  Event event_ = nullptr;
  bool is_set_ = false;
};

}  // namespace pippin::cuda
