// The machine of cuda/kernels/machine.h as C++: a fiber for each thread of a block, which hands
// over to the next one at barriers and exchanges; blocks run one after another.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#define DEVICE inline
#define UNROLL
#define UNROLL_BY(count)
#define SHARED(name) unsigned char* const name = pippin::cuda::emulate::shared_memory()
#define __restrict__ __restrict

namespace pippin::cuda {

// NOLINTBEGIN(readability-identifier-naming): CUDA's names
struct alignas(8) uint2 {
  uint32_t x, y;
};
struct alignas(16) uint4 {
  uint32_t x, y, z, w;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
// NOLINTEND(readability-identifier-naming)
inline float4 make_float4(float x, float y, float z, float w) {
  return {x, y, z, w};
}
inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w) {
  return {x, y, z, w};
}

namespace emulate {

struct Index {
  unsigned x = 0, y = 0, z = 0;
};
// Of the running thread.
struct Place {
  Index thread, block, block_size, grid;
};
const Place& place();
unsigned char* shared_memory();

void barrier();
void warp_barrier();
// Shows up to 32 bytes to the running thread's warp: what its lanes have shown, when all have come
// here. Valid until the next but one call.
using Shown = const unsigned char (*)[32];
Shown show(const void* bytes, size_t size);

}  // namespace emulate

#define threadIdx (pippin::cuda::emulate::place().thread)
#define blockIdx (pippin::cuda::emulate::place().block)
#define blockDim (pippin::cuda::emulate::place().block_size)
#define gridDim (pippin::cuda::emulate::place().grid)

float half_to_float(uint16_t bits);
uint16_t float_to_half(float x);
uint16_t float_to_bfloat(float x);
inline float bits_to_float(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}
inline uint32_t float_to_bits(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}
inline int round_to_int(float x) {
  return static_cast<int>(std::nearbyintf(x));
}

template <typename T>
T load_stream(const T* p) {
  return *p;
}

inline void barrier() {
  emulate::barrier();
}
inline void warp_barrier() {
  emulate::warp_barrier();
}
template <typename T>
T from_lane(T v, int lane) {
  static_assert(sizeof(T) <= 32);
  std::memcpy(&v, emulate::show(&v, sizeof(v))[lane & 31], sizeof(v));
  return v;
}
template <typename T>
T across_lanes(T v, int mask) {
  return from_lane(v, (static_cast<int>(threadIdx.x) & 31) ^ mask);
}
int dot4(int a, int b, int c);

inline void let_next_start() {}
inline void wait_for_previous() {}

void multiply_int8(int (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]);
void multiply_halves(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]);
void multiply_bfloats(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]);

void copy_later(void* shared, const void* global, size_t bytes);
template <int bytes = 16>
void copy_later(void* shared, const void* global) {
  copy_later(shared, global, bytes);
}
void end_copy_group();
// Copies all groups of this thread but the `left` last ones.
void wait_for_copies(size_t left);
template <int left>
void wait_for_copies() {
  wait_for_copies(left);
}
void load_matrices(uint32_t (&d)[4], const void* shared_row);
void load_transposed(uint32_t (&d)[4], const void* shared_row);

inline float fast_exp(float x) {
  return std::exp(x);
}
inline float fast_divide(float x, float y) {
  return x / y;
}
inline float rsqrtf(float x) {
  return 1 / std::sqrt(x);
}
inline uint32_t exchange_max(uint32_t* p, uint32_t x) {
  const uint32_t old = *p;
  *p = std::max(old, x);
  return old;
}
inline uint32_t exchange_add(uint32_t* p, uint32_t x) {
  const uint32_t old = *p;
  *p += x;
  return old;
}
inline void fence() {}

using std::max;
using std::min;

}  // namespace pippin::cuda
