// The caches of a sequence of a windowed model. They are inputs of the chunks, in the sequence's
// lane. With --low-memory, chunks are loaded only while they run, and the caches are kept here
// between runs.
//
// The cache processor appends a full window's columns on the worker thread, while later chunks
// compute. The next use of the chunk waits for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pippin/runtime/sequence_file.h"
#include "pippin/runtime/windowed/shared.h"

namespace pippin::runtime {

class WindowedCaches {
 public:
  explicit WindowedCaches(WindowedShared& shared);  // all zero
  WindowedCaches(const WindowedCaches&) = delete;
  WindowedCaches& operator=(const WindowedCaches&) = delete;
  ~WindowedCaches();

  // The sequence's lane in each chunk.
  size_t lane() const { return lane_; }
  // Returns the chunk, ready to run with these caches.
  FixedPart& chunk(size_t index);
  // Call after a run of a chunk over a full window.
  void append(size_t index);
  // With --low-memory: unloads a chunk.
  void release(size_t index);

  void clear();
  void copy(const WindowedCaches& other);
  // The caches of all chunks, in a sequence of `count` tokens.
  std::vector<CacheArray> arrays(int64_t count);
  MutableByteSpan bytes(size_t index);  // of that array

 private:
  using Arrays = std::vector<std::vector<float>>;  // k and v of each block
  void wait(size_t index) const;
  std::vector<size_t> inputs(size_t index) const;
  const std::vector<int64_t>& shape(size_t cache) const;  // of a chunk's cache
  std::span<float> cache(size_t chunk, size_t index);     // wait() for the chunk first

  WindowedShared& shared_;
  size_t place_;  // index of the sequence
  size_t lane_;
  mutable std::vector<uint64_t> pending_;  // by chunk: the job that updates its caches
  std::vector<Arrays> kept_;               // by chunk; empty: zeros
};

}  // namespace pippin::runtime
