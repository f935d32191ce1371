// Numbers of 1 to 8 bits, as networks store them, as one byte each, and as MIL stores them.
//
//              byte 0     byte 1
//   network    aaabbbcc   cdddeeef    3 bits each; the first number in the most significant bits
//   MIL        ccbbbaaa   feeedddc    the first number in the least significant bits
#pragma once

#include "pippin/mil/networks/weights.h"

namespace pippin::mil::networks {

// One byte for each of a network's numbers; those of 8 bits are the file's bytes.
std::shared_ptr<const TensorSource> unpacked_numbers(ByteSpan bytes, int64_t count, int bits,
                                                     const Owner& owner);

// Bytes as the elements of a MIL tensor of 1 to 8 bits; for 8 bits the source itself.
std::shared_ptr<const TensorSource> packed_numbers(std::shared_ptr<const TensorSource> numbers,
                                                   int bits);

// Converts a network's numbers from `first` on to bytes.
void unpack_numbers(ByteSpan bytes, int bits, size_t first, MutableByteSpan out);

}  // namespace pippin::mil::networks
