// Uninitialized memory: std::make_unique_for_overwrite, which C++ libraries before 2023 (libc++ 14)
// lack.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

namespace pippin {

template <typename T>
std::unique_ptr<T[]> make_unwritten(size_t count) {
  static_assert(std::is_trivially_default_constructible_v<T>);
  return std::unique_ptr<T[]>(new T[count]);
}

}  // namespace pippin
