// The caches of a sequence of a windowed model. They are inputs of the chunks, in the sequence's
// lane; where chunks are there only while they run (low memory) they are kept here in between.
//
// The cache processor appends a full window's columns on the worker's thread, while later chunks
// compute; who needs a chunk next waits for it.
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
  explicit WindowedCaches(WindowedShared& shared);  // empty ones
  WindowedCaches(const WindowedCaches&) = delete;
  WindowedCaches& operator=(const WindowedCaches&) = delete;
  ~WindowedCaches();

  // Of this sequence in each chunk.
  size_t lane() const { return lane_; }
  // The chunk, ready to run with these caches.
  WindowedPart& chunk(size_t index);
  // After a run of a chunk over a full window.
  void append(size_t index);
  // Where chunks do not stay: lets go of one.
  void release(size_t index);

  void clear();
  void copy(const WindowedCaches& other);
  // Of all chunks; in sequences of so many tokens.
  std::vector<CacheArray> arrays(int64_t count);
  MutableByteSpan bytes(size_t index);  // of one of these

 private:
  using Arrays = std::vector<std::vector<float>>;  // k and v of each block
  void wait(size_t index) const;
  std::vector<size_t> inputs(size_t index) const;
  const std::vector<int64_t>& shape(size_t cache) const;  // of a chunk's
  std::span<float> cache(size_t chunk, size_t index);     // of a chunk that is waited for

  WindowedShared& shared_;
  size_t place_;  // among the sequences
  size_t lane_;
  mutable std::vector<uint64_t> pending_;  // by chunk: the job that updates its caches
  std::vector<Arrays> kept_;               // by chunk; empty: zeros
};

}  // namespace pippin::runtime
