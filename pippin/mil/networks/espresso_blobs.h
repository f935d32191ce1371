// model.espresso.weights: u64 count; count pairs of u64 number and u64 size in bytes; the bytes of
// all blobs in this order. Odd numbers hold weights, the others are empty or not needed.
#pragma once

#include <map>

#include "pippin/mil/networks/weights.h"

namespace pippin::mil::networks {

class EspressoBlobs {
 public:
  // Throws InvalidFile if the blobs do not fit into the file.
  EspressoBlobs(ByteSpan bytes, Owner owner);

  // Returns a blob of this many fp32 or fp16 elements. Throws InvalidFile for another size.
  std::shared_ptr<const TensorSource> floats(int64_t number, int64_t count) const;

 private:
  std::map<int64_t, ByteSpan> blobs_;
  const Owner owner_;
};

}  // namespace pippin::mil::networks
