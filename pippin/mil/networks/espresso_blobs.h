// model.espresso.weights: u64 count; count pairs of u64 number and u64 size in bytes; the bytes of
// all blobs in this order. Odd numbers hold weights; most of the others are empty.
#pragma once

#include <map>

#include "pippin/mil/networks/weights.h"

namespace pippin::mil::networks {

class EspressoBlobs {
 public:
  // Throws InvalidFile if the blobs do not fit into the file.
  EspressoBlobs(ByteSpan bytes, Owner owner);

  // Return a blob of this many elements. Throw InvalidFile for another size.
  std::shared_ptr<const TensorSource> floats(int64_t number, int64_t count) const;
  std::shared_ptr<const TensorSource> halves(int64_t number, int64_t count) const;
  // The biases of matrices have the size of four vectors, of which the first counts.
  std::shared_ptr<const TensorSource> biases(int64_t number, int64_t count) const;
  // Bytes, which zeros may follow up to a multiple of 64.
  ByteSpan bytes(int64_t number, int64_t count) const;

 private:
  ByteSpan blob(int64_t number) const;
  ByteSpan sized(int64_t number, int64_t count, int64_t element) const;

  std::map<int64_t, ByteSpan> blobs_;
  const Owner owner_;
};

}  // namespace pippin::mil::networks
