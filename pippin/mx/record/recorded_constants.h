// Arrays as constants of a package's functions: equal ones become one weight of the file.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/mx/core/node.h"

namespace pippin::mx {

class RecordedConstants {
 public:
  // Adds the node's numbers, in the corresponding MIL type. Throws Unsupported for integers that
  // int32 cannot hold.
  pippin::array::Array add(const Node& node);
  // Adds a weight from packed bytes.
  pippin::array::Array add(mil::DataType type, std::vector<int64_t> shape,
                           std::vector<std::byte> bytes);

 private:
  struct Weight {
    mil::DataType type;
    std::vector<int64_t> shape;
    std::shared_ptr<const mil::TensorSource> source;
  };
  pippin::array::Array weight(mil::DataType type, std::vector<int64_t> shape,
                              std::shared_ptr<const mil::TensorSource> source);

  std::unordered_multimap<size_t, Weight> weights_;  // by a hash of the bytes
};

}  // namespace pippin::mx
