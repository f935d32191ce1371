// Arrays that are computed when a plan is made, from the cache on disk where there is one: weights
// in forms that no kernel reads.
//
// An array's key is made of the operation that gives it: its type, parameters and the bytes of its
// operands, and those of the constexpr ops that its operands come from. Hashing operands takes as
// long as some forms take to expand, so the key itself is remembered by facts known without
// reading them: which bytes of which files they are (base/files/mapped_origin.h).
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
  // What else decides the bits: the processor, the form that the array is kept in.
  std::string_view variant = {};
  LoadCache* cache = nullptr;  // or none
  // Whether there is such a form at all, asked before the operands are read for the key.
  std::function<bool()> applies = nullptr;
  // Null if no cache keeps it: computing it for every load does not pay.
  bool only_stored = false;
};

// The bytes that `make` returns, or returned: for the same value and variant while someone holds
// them, or in a process before. Null, and nothing is remembered, where it returns none, the form
// does not apply or the request does not want it. `var` belongs to a program that outlives the
// result. Throws what `make` throws.
SharedBytes shared_array(const ArrayRequest& request,
                         const std::function<std::vector<std::byte>()>& make);

// As value.read_bytes(); large ones that are computed while they are read (mil::DerivedSource), as
// codes of quantized checkpoints are, by a thread for every core. Throws what reading throws.
std::vector<std::byte> read_on_all_threads(const mil::Value& value);

}  // namespace pippin::engine
