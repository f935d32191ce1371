// The memory of a plan's values, and their types in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "pippin/engine/nodes/view.h"
#include "pippin/mil/data_type.h"

namespace pippin::engine {

// The storage that a value of an element type has while a plan runs. Throws Unsupported for
// strings.
Storage run_storage(mil::DataType type);
// The storage that keeps the bytes of constants and states as they are, if any.
std::optional<Storage> native_storage(mil::DataType type);

struct Buffer {
  enum class Kind : uint8_t { Arena, Constant, State, Input };
  Kind kind = Kind::Arena;
  Storage storage = Storage::F32;
  mil::Dim elements;
  const std::byte* data = nullptr;  // Constant
  std::string name;                 // State, Input
};

// The first byte of an array that plans share; it lives as long as this pointer is held.
using SharedBytes = std::shared_ptr<const std::byte>;

}  // namespace pippin::engine
