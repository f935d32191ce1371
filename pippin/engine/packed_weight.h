// Compressed weights as the engine keeps them: the package's own bytes, described for the kernels
// of kernels/packed/.
//
// The constexpr_* ops of integers with scales and of palettes become a PackedWeight each; linear
// layers, pointwise convolutions, products and look-ups compute straight from it. Whatever else
// reads such a value gets it expanded to its declared type: once for all plans of a program that
// live at the same time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "pippin/kernels/packed/packed.h"
#include "pippin/mil/data_type.h"

namespace pippin::mil {
class Operation;
struct Var;
}  // namespace pippin::mil

namespace pippin::engine {

class Builder;

struct PackedWeight {
  // Rows are the first axis that is not 1 of a value of rank 3 and more, else the first; columns
  // all that follows it.
  kernels::PackedMatrix matrix{};
  mil::DataType type = mil::DataType::Float16;  // Float16 or Float32
  std::string form;                             // "int4", "palette of 4 bits"
  kernels::BytePalettes byte_palettes;          // what matrix.byte_palettes points to
  int64_t bytes = 0;                            // of codes, scales and palettes: read by a dot
};

// Describes the value of a constexpr op; null where it has a form that the kernels do not know
// (sparse ones, vector palettes, blocks over several inner axes). What it points to lives as long
// as the program and the builder's constants.
std::shared_ptr<const PackedWeight> pack_weight(Builder& builder, const mil::Operation& operation);

// All elements in row-major order in the declared type, on as many threads as pay.
std::vector<std::byte> expand_weight(const PackedWeight& weight, const CpuFeatures& cpu);

}  // namespace pippin::engine
