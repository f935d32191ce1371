// NumPy's .npy array files, in memory and on disk.
//
// Reads versions 1 to 3, little-endian numbers and bools, and converts Fortran order to C order, so
// that an NpyArray is always row-major. Writes version 1 in C order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "pippin/base/bytes.h"
#include "pippin/base/numbers/float16.h"

namespace pippin {

enum class NpyType { Bool, I8, U8, I16, U16, I32, U32, I64, U64, F16, F32, F64 };

size_t byte_size(NpyType type);
// Returns NumPy's spelling: "<f4", "|b1", ...
std::string_view to_string(NpyType type);

template <typename T>
constexpr NpyType npy_type_of() {
  if constexpr (std::is_same_v<T, bool>)
    return NpyType::Bool;
  else if constexpr (std::is_same_v<T, int8_t>)
    return NpyType::I8;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return NpyType::U8;
  else if constexpr (std::is_same_v<T, int16_t>)
    return NpyType::I16;
  else if constexpr (std::is_same_v<T, uint16_t>)
    return NpyType::U16;
  else if constexpr (std::is_same_v<T, int32_t>)
    return NpyType::I32;
  else if constexpr (std::is_same_v<T, uint32_t>)
    return NpyType::U32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return NpyType::I64;
  else if constexpr (std::is_same_v<T, uint64_t>)
    return NpyType::U64;
  else if constexpr (std::is_same_v<T, float16>)
    return NpyType::F16;
  else if constexpr (std::is_same_v<T, float>)
    return NpyType::F32;
  else {
    static_assert(std::is_same_v<T, double>, "no NumPy type");
    return NpyType::F64;
  }
}

struct NpyArray {
  NpyType type = NpyType::F32;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;

  int64_t num_elements() const;

  // Returns the elements; throws InvalidArgument if T is another type. Bools are read as uint8_t,
  // because a file may contain values other than 0 and 1; so as<bool>() does not exist.
  template <typename T>
  std::span<const T> as() const {
    static_assert(!std::is_same_v<T, bool>);
    check_type(npy_type_of<T>());
    return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)};
  }
  // Converts every element, from any type.
  std::vector<double> to_doubles() const;
  std::vector<float> to_floats() const;

  template <typename T>
  static NpyArray from(std::span<const T> values, std::vector<int64_t> shape) {
    const auto bytes = std::as_bytes(values);
    return {npy_type_of<T>(), std::move(shape), {bytes.begin(), bytes.end()}};
  }

 private:
  void check_type(NpyType wanted) const;
};

struct NpyLimits {
  size_t max_bytes = size_t{4} << 30;  // of one array's data
};

// A view of a file: its type in NumPy's spelling, which may be unknown here.
struct NpyView {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
  ByteSpan data;
};

// Checks only the header. `name` starts error messages.
NpyView view_npy(ByteSpan file, const std::string& name);

// `name` starts error messages.
NpyArray parse_npy(ByteSpan file, const std::string& name, const NpyLimits& limits = {});
NpyArray read_npy(const std::filesystem::path& path, const NpyLimits& limits = {});

// Returns the bytes of a .npy file before its data.
std::string npy_header(NpyType type, const std::vector<int64_t>& shape);
// Returns the bytes of a .npy file. Throws InvalidArgument if data and shape disagree.
std::string format_npy(const NpyArray& array);
// Writes texts as NumPy's fixed-width unicode ('<U7'), as wide as the longest; invalid UTF-8
// becomes U+FFFD. NumPy drops trailing zero characters.
std::string format_npy(std::span<const std::string> texts, const std::vector<int64_t>& shape);
void write_npy(const std::filesystem::path& path, const NpyArray& array);

}  // namespace pippin
