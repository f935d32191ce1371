// Sorted rows: keys of 8 bytes, an element's rank before its place, so that no two are equal.
// Chunks are sorted in shared memory, then merged.
#pragma once

#include "pippin/cuda/kernels/blocks.cuh"
#include "pippin/cuda/kernels/sort_args.h"

namespace pippin::cuda {

// NaN ranks last; zeros of both signs are equal.
DEVICE uint64_t sort_key(uint32_t bits, bool integers, bool ascending, uint32_t place) {
  uint32_t rank = bits ^ 0x80000000u;
  if (!integers) {
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
      rank = 0xffffffffu;
    } else {
      const uint32_t zero_free = magnitude == 0 ? 0 : bits;
      rank = (zero_free >> 31) != 0 ? ~zero_free : zero_free | 0x80000000u;
    }
  }
  return static_cast<uint64_t>(ascending ? rank : ~rank) << 32 | place;
}

DEVICE void write_sorted(const SortArgs& a, int64_t row, int64_t i, uint64_t key) {
  const uint32_t place = static_cast<uint32_t>(key);
  a.indices[row * a.index_stride + i] = static_cast<int32_t>(place);
  if (a.values == nullptr) return;
  a.values[row * a.value_stride + i] = static_cast<const uint32_t*>(a.x)[row * a.x_stride + place];
}

// A block for each chunk of a row; with `chunk` keys in shared memory.
DEVICE void sort_chunks_body(const SortArgs& a) {
  SHARED(shared);
  uint64_t* keys = reinterpret_cast<uint64_t*>(shared);
  const int64_t row = blockIdx.x / a.chunks, first = blockIdx.x % a.chunks * a.chunk;
  const int size = static_cast<int>(a.chunk);
  const uint32_t* x = static_cast<const uint32_t*>(a.x) + row * a.x_stride;
  for (int i = thread_index(); i < size; i += block_threads()) {
    const int64_t place = first + i;
    keys[i] = place < a.n
                  ? sort_key(x[place], a.integers, a.ascending, static_cast<uint32_t>(place))
                  : ~uint64_t{0};
  }
  // Bitonic: runs of `length` become sorted, every other one backwards.
  for (int length = 2; length <= size; length *= 2) {
    for (int apart = length / 2; apart > 0; apart /= 2) {
      barrier();
      for (int t = thread_index(); t < size / 2; t += block_threads()) {
        const int i = 2 * t - (t & (apart - 1));
        const uint64_t p = keys[i], q = keys[i + apart];
        if ((p > q) == ((i & length) == 0)) {
          keys[i] = q;
          keys[i + apart] = p;
        }
      }
    }
  }
  barrier();
  for (int64_t i = thread_index(); i < a.kept && first + i < a.n; i += block_threads()) {
    if (a.chunks == 1) {
      write_sorted(a, row, i, keys[i]);
    } else {
      a.keys[(row * a.chunks + first / a.chunk) * a.kept + i] = keys[i];
    }
  }
}

// Keys of the run that begins with this chunk.
DEVICE int64_t run_keys(const MergeArgs& a, int64_t first_chunk) {
  const int64_t begin = first_chunk * a.chunk;
  const int64_t all = a.n - begin, most = a.chunk << a.level;
  const int64_t some = all < most ? all : most;
  return some < 0 ? 0 : some < a.length ? some : a.length;
}

// A thread for each key: its place in the merged run is the number of keys before it in both.
DEVICE void merge_runs_body(const MergeArgs& a) {
  const int64_t index = static_cast<int64_t>(blockIdx.x) * block_threads() + thread_index();
  const int64_t row = index / (a.runs * a.length), in_row = index % (a.runs * a.length);
  const int64_t run = in_row / a.length, i = in_row % a.length;
  if (row >= a.rows || i >= run_keys(a, run << a.level)) return;
  const uint64_t* from = a.from + row * a.row_keys;
  const uint64_t key = from[in_row];
  const uint64_t* other = from + (run ^ 1) * a.length;
  int64_t low = 0, high = run_keys(a, (run ^ 1) << a.level);
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (other[middle] < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (i + low < a.merged_length) {
    a.to[row * a.row_keys + run / 2 * a.merged_length + i + low] = key;
  }
}

DEVICE void write_sorted_body(const SortArgs& a) {
  const int64_t index = static_cast<int64_t>(blockIdx.x) * block_threads() + thread_index();
  const int64_t row = index / a.k, i = index % a.k;
  if (row < a.rows) write_sorted(a, row, i, a.keys[row * a.chunks * a.kept + i]);
}

}  // namespace pippin::cuda
