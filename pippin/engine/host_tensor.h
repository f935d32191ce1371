// A value as the caller passes or receives it: elements of the declared type, packed, in memory of
// its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "pippin/mil/tensor.h"

namespace pippin::engine {

struct HostTensor {
  mil::DataType type = mil::DataType::Float32;
  std::vector<int64_t> shape;        // row-major, rank 0 is a scalar
  std::vector<std::byte> bytes;      // packed little-endian elements, a bool is a byte
  std::vector<std::string> strings;  // DataType::String

  // A dictionary (the probabilities of `classify`) has one key per element, of either type.
  std::vector<std::string> string_keys;
  std::vector<int64_t> int_keys;
};

HostTensor to_host(const mil::Tensor& tensor);
// Throws InvalidArgument if the number of bytes does not match the shape and type.
mil::Tensor to_tensor(const HostTensor& tensor);

}  // namespace pippin::engine
