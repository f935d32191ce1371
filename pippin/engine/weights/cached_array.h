// Arrays that are computed when a plan is made, or read from the cache on disk if it has them:
// weights in forms that no kernel reads.
//
// An array's key is made from the operation that computes it: its type, parameters and the bytes of
// its operands, and those of the constexpr ops that compute the operands. Hashing operands takes as
// long as expanding some forms, so the key itself is stored under facts known without reading them:
// their ranges of bytes in their files (base/files/mapped_origin.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "pippin/engine/nodes/buffer.h"
#include "pippin/mil/ops/op.h"
#include "pippin/mil/program.h"

namespace pippin {
class LoadCache;
}

namespace pippin::engine {

struct ArrayRequest {
  const mil::Var* var = nullptr;  // the result of an operation on constants
  uint64_t size = 0;              // bytes that `make` returns
  mil::Opset opset = mil::Opset::CoreML5;
  // Other data that decide the bits: the processor, the form in which the array is kept.
  std::string_view variant = {};
  LoadCache* cache = nullptr;  // or none
  // Whether such a form exists at all, checked before the operands are read for the key.
  std::function<bool()> applies = nullptr;
  // Null if no cache keeps it: computing it for every load does not pay off.
  bool only_stored = false;
};

// The bytes that `make` returns, or returned: for the same value and variant while they are held
// elsewhere, or in an earlier process. Null, and nothing is remembered, if it returns none, the
// form does not apply or the request does not need it. `var` belongs to a program that outlives the
// result. Throws what `make` throws.
SharedBytes shared_array(const ArrayRequest& request,
                         const std::function<std::vector<std::byte>()>& make);

// Like value.read_bytes(); large values that are computed while they are read (mil::DerivedSource),
// like codes of quantized checkpoints, by one thread per core. Throws what reading throws.
std::vector<std::byte> read_on_all_threads(const mil::Value& value);

}  // namespace pippin::engine
