#include "pippin/engine/weights/copy_operand.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "pippin/base/numbers/float16.h"
#include "pippin/engine/run/peers.h"
#include "pippin/engine/run/strided.h"

namespace pippin::engine {
namespace {

// Converts one element between any two storages: slow, for strides without a kernel.
void convert_element(std::byte* to, Storage to_storage, const std::byte* from,
                     Storage from_storage) {
  const auto load = [&]<typename T>(T) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
  };
  float number = 0;
  int32_t integer = 0;
  switch (from_storage) {
    case Storage::F32:
      number = load(float{});
      break;
    case Storage::F16:
      number = to_float(load(float16{}));
      break;
    case Storage::BF16:
      number = to_float(load(bfloat16{}));
      break;
    case Storage::I32:
      integer = load(int32_t{});
      break;
    case Storage::Bool:
      integer = load(uint8_t{}) != 0;
      break;
    case Storage::I8:
      integer = (load(uint8_t{}) ^ 0x80) - 0x80;  // extends the sign
      break;
  }
  const auto store = [&](auto value) { std::memcpy(to, &value, sizeof(value)); };
  const bool from_float = is_float(from_storage);
  const float as_float = from_float ? number : static_cast<float>(integer);
  switch (to_storage) {
    case Storage::F32:
      store(as_float);
      break;
    case Storage::F16:
      store(to_float16(as_float));
      break;
    case Storage::BF16:
      store(to_bfloat16(as_float));
      break;
    case Storage::I32:
      if (from_float) {  // toward zero, saturating; NaN gives 0, as in the kernel
        integer = number >= 2147483648.f    ? INT32_MAX
                  : number <= -2147483648.f ? INT32_MIN
                  : number != number        ? 0
                                            : static_cast<int32_t>(number);
      }
      store(integer);
      break;
    case Storage::Bool:
      store(static_cast<uint8_t>(from_float ? number != 0 : integer != 0));
      break;
    case Storage::I8:  // only copied as they are
      break;
  }
}

using Convert = void (*)(const kernels::ElementwiseKernels&, const std::byte*, std::byte*, int64_t);

// The kernel for contiguous runs, or null.
Convert find_convert(Storage to, Storage from) {
  if (from == Storage::F16 && to == Storage::F32) {
    return [](const auto& k, const std::byte* x, std::byte* y, int64_t n) {
      k.f16_to_f32(reinterpret_cast<const uint16_t*>(x), reinterpret_cast<float*>(y), n);
    };
  }
  if (from == Storage::BF16 && to == Storage::F32) {
    return [](const auto& k, const std::byte* x, std::byte* y, int64_t n) {
      k.bf16_to_f32(reinterpret_cast<const uint16_t*>(x), reinterpret_cast<float*>(y), n);
    };
  }
  if (from == Storage::F32 && to == Storage::F16) {
    return [](const auto& k, const std::byte* x, std::byte* y, int64_t n) {
      k.f32_to_f16(reinterpret_cast<const float*>(x), reinterpret_cast<uint16_t*>(y), n);
    };
  }
  if (from == Storage::F32 && to == Storage::BF16) {
    return [](const auto& k, const std::byte* x, std::byte* y, int64_t n) {
      k.f32_to_bf16(reinterpret_cast<const float*>(x), reinterpret_cast<uint16_t*>(y), n);
    };
  }
  if (from == Storage::I32 && to == Storage::F32) {
    return [](const auto& k, const std::byte* x, std::byte* y, int64_t n) {
      k.i32_to_f32(reinterpret_cast<const int32_t*>(x), reinterpret_cast<float*>(y), n);
    };
  }
  if (from == Storage::F32 && to == Storage::I32) {
    return [](const auto& k, const std::byte* x, std::byte* y, int64_t n) {
      k.f32_to_i32(reinterpret_cast<const float*>(x), reinterpret_cast<int32_t*>(y), n);
    };
  }
  return nullptr;
}

// The body of a loop over {to, from}.
auto copy_body(const StridedLoop<2>& loop, Storage to, Storage from,
               const kernels::ElementwiseKernels& table) {
  return [&loop, to, from, &table, convert = find_convert(to, from)](
             const std::array<std::byte*, 2>& pointers, int64_t count) {
    const int64_t to_size = element_size(to), from_size = element_size(from);
    const bool dense = loop.inner_strides[0] == 1 && loop.inner_strides[1] == 1;
    if (count == 0) return;
    if (dense && to == from) {
      std::memcpy(pointers[0], pointers[1], static_cast<size_t>(count * to_size));
    } else if (dense && convert != nullptr) {
      convert(table, pointers[1], pointers[0], count);
    } else {
      for (int64_t i = 0; i < count; ++i) {
        convert_element(pointers[0] + i * loop.inner_strides[0] * to_size, to,
                        pointers[1] + i * loop.inner_strides[1] * from_size, from);
      }
    }
  };
}

// Transposes and repeats.
bool is_strided(const Operand& to, const Operand& from, const StridedLoop<2>& loop) {
  return to.storage == from.storage && (loop.inner_strides[0] != 1 || loop.inner_strides[1] != 1);
}

kernels::CopyArgs copy_args(const Operand& to, const Operand& from) {
  kernels::CopyArgs args{};
  args.x = from.data;
  args.y = to.data;
  args.element_size = static_cast<int>(element_size(to.storage));
  args.rank = to.rank;
  std::copy_n(to.shape, to.rank, args.shape);
  std::copy_n(from.strides, to.rank, args.x_strides);
  std::copy_n(to.strides, to.rank, args.y_strides);
  return args;
}

// The same by all threads: each takes a part of the longest axis.
void copy_strided(const Operand& to, const Operand& from, ThreadPool& pool) {
  constexpr int64_t kWorthSharing = int64_t{1} << 15;
  int axis = 0;
  for (int i = 1; i < to.rank; ++i) {
    if (to.shape[i] > to.shape[axis]) axis = i;
  }
  if (to.size() < kWorthSharing || pool.num_threads() == 1) {
    kernels::strided_copy(copy_args(to, from));
    return;
  }
  pool.run([&](int part, int parts) {
    const Range share = split_range(to.shape[axis], part, parts);
    if (share.begin == share.end) return;
    kernels::strided_copy(copy_args(range_of(to, axis, share), range_of(from, axis, share)));
  });
}

}  // namespace

void copy_operand(const Operand& to, const Operand& from,
                  const kernels::ElementwiseKernels& kernels, ThreadPool& pool) {
  const StridedLoop<2> loop({to, from});
  if (is_strided(to, from, loop)) {
    copy_strided(to, from, pool);
  } else {
    loop.run_parallel(pool, copy_body(loop, to.storage, from.storage, kernels));
  }
}

void copy_operand(const Operand& to, const Operand& from, const CpuFeatures& cpu) {
  const StridedLoop<2> loop({to, from});
  if (is_strided(to, from, loop)) {
    kernels::strided_copy(copy_args(to, from));
    return;
  }
  loop.run(0, loop.outer_count,
           copy_body(loop, to.storage, from.storage, kernels::choose_elementwise(cpu)));
}

}  // namespace pippin::engine
