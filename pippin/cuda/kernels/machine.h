// The machine-dependent functions of kernels: PTX under nvcc, the emulator (emulate/) under a C++
// compiler. The only file with PTX.
//
// Rules for kernels, so that they run on both: threads of a block are a multiple of 32; all threads
// of a block reach every barrier, and all of a warp every exchange; shared memory comes from SHARED
// alone.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#else
#include "pippin/cuda/emulate/machine.h"
#endif

#if defined(__CUDACC__)

#define DEVICE __device__ __forceinline__
#define UNROLL _Pragma("unroll")
#define UNROLL_BY(count) _Pragma(PIPPIN_CUDA_TEXT(unroll count))
#define PIPPIN_CUDA_TEXT(text) #text
// The block's dynamic shared memory, aligned to 128 bytes.
#define SHARED(name) extern __shared__ __align__(128) unsigned char name[]

namespace pippin::cuda {

DEVICE float half_to_float(uint16_t bits) {
  return __half2float(__ushort_as_half(bits));
}
DEVICE uint16_t float_to_half(float x) {
  return __half_as_ushort(__float2half_rn(x));
}
DEVICE uint16_t float_to_bfloat(float x) {
  return __bfloat16_as_ushort(__float2bfloat16_rn(x));
}
DEVICE float bits_to_float(uint32_t bits) {
  return __uint_as_float(bits);
}
DEVICE uint32_t float_to_bits(float x) {
  return __float_as_uint(x);
}
DEVICE int round_to_int(float x) {
  return __float2int_rn(x);
}

// Loads weights, which are read once: past the first cache.
DEVICE uint4 load_stream(const uint4* p) {
  uint4 v;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p));
  return v;
}
DEVICE uint16_t load_stream(const uint16_t* p) {
  uint16_t v;
  asm volatile("ld.global.nc.L1::no_allocate.u16 %0, [%1];" : "=h"(v) : "l"(p));
  return v;
}
DEVICE uint2 load_stream(const uint2* p) {
  uint2 v;
  asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0,%1}, [%2];"
               : "=r"(v.x), "=r"(v.y)
               : "l"(p));
  return v;
}
DEVICE uint32_t load_stream(const uint32_t* p) {
  uint32_t v;
  asm volatile("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(v) : "l"(p));
  return v;
}

DEVICE void barrier() {
  __syncthreads();
}
DEVICE void warp_barrier() {
  __syncwarp();
}
template <typename T>
DEVICE T from_lane(T v, int lane) {
  return __shfl_sync(0xffffffffu, v, lane);
}
template <typename T>
DEVICE T across_lanes(T v, int mask) {
  return __shfl_xor_sync(0xffffffffu, v, mask);
}
DEVICE int dot4(int a, int b, int c) {
#if __CUDA_ARCH__ >= 610
  return __dp4a(a, b, c);
#else
  return c;
#endif
}

// Programmatic dependent launch: blocks of the next kernel may start; what earlier kernels wrote is
// visible.
DEVICE void let_next_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
DEVICE void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// d += a * b: rows of a by columns of b, in the fragments of PTX's mma.m16n8k32 and m16n8k16.
DEVICE void multiply_int8(int (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
      "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  __trap();
#endif
}
DEVICE void multiply_halves(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  __trap();
#endif
}
DEVICE void multiply_bfloats(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  __trap();
#endif
}

// Copies 4, 8 or 16 bytes to shared memory, later: copies are counted in groups, and have arrived
// for this thread after a wait for all groups but the `left` last ones. Addresses are multiples of
// the size.
template <int bytes = 16>
DEVICE void copy_later(void* shared, const void* global) {
#if __CUDA_ARCH__ >= 800
  const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(global), "n"(bytes)
                 : "memory");
  }
#else
  for (int i = 0; i < bytes / 4; ++i) {
    static_cast<uint32_t*>(shared)[i] = static_cast<const uint32_t*>(global)[i];
  }
#endif
}
DEVICE void end_copy_group() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int left>
DEVICE void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
#endif
}
// Four matrices of 8 rows of 16 bytes in shared memory: lane i gives the address of row i % 8 of
// matrix i / 8, and gets word i % 4 of row i / 4 of each.
DEVICE void load_matrices(uint32_t (&d)[4], const void* shared_row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(shared_row)))
               : "memory");
}
// The same matrices of 8 x 8 elements of 16 bits, transposed.
DEVICE void load_transposed(uint32_t (&d)[4], const void* shared_row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(shared_row)))
               : "memory");
}

DEVICE float fast_exp(float x) {
  return __expf(x);
}
// Within two units of the last place, for |y| below 2^126.
DEVICE float fast_divide(float x, float y) {
  return __fdividef(x, y);
}
// The old value of *p, which becomes the new one.
DEVICE uint32_t exchange_max(uint32_t* p, uint32_t x) {
  return atomicMax(p, x);
}
DEVICE uint32_t exchange_add(uint32_t* p, uint32_t x) {
  return atomicAdd(p, x);
}
DEVICE void fence() {
  __threadfence();
}

}  // namespace pippin::cuda

#endif

namespace pippin::cuda {

DEVICE float bfloat_to_float(uint16_t bits) {
  return bits_to_float(static_cast<uint32_t>(bits) << 16);
}

// The same number in all lanes, summed in the same order.
template <typename T>
DEVICE T warp_sum(T v) {
  for (int mask = 16; mask > 0; mask >>= 1) v += across_lanes(v, mask);
  return v;
}
DEVICE uint32_t warp_or(uint32_t v) {
  for (int mask = 16; mask > 0; mask >>= 1) v |= across_lanes(v, mask);
  return v;
}
// NaN if any is.
DEVICE float warp_max(float v) {
  for (int mask = 16; mask > 0; mask >>= 1) {
    const float other = across_lanes(v, mask);
    v = other > v || other != other ? other : v;
  }
  return v;
}

}  // namespace pippin::cuda
