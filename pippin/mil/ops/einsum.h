// The equation of an einsum, parsed once for every user of its axes' roles.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace pippin::mil {

// "nchw,nwhu->nchu": one letter for each axis of the two operands and of the result.
struct Einsum {
  // The role of an operand's axis.
  enum class Role : uint8_t {
    Batch,   // both operands and the result have it
    Own,     // the result has it from this operand alone
    Summed,  // both operands have it, the result does not: their products are summed over it
    Alone,   // only this operand has it: summed before the product
  };
  std::array<std::string, 2> operands;
  std::string result;

  Role role(size_t operand, size_t axis) const;
  // The equation with its letters renamed to a, b, c, ... in order of appearance.
  std::string renamed() const;
};

// Spaces are ignored. An operand may use one letter for two axes: its diagonal. Throws InvalidFile,
// naming the equation, if the text does not have the form ab,bc->ac, if the name of an axis is not
// an ASCII letter, or if the result repeats a letter or has one that no operand has.
Einsum parse_einsum(std::string_view equation);

}  // namespace pippin::mil
