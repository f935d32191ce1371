// The equation of an einsum, read once for all who ask what its axes are for.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace pippin::mil {

// "nchw,nwhu->nchu": one letter for each axis of the two operands and of the result.
struct Einsum {
  // What an axis of an operand is for.
  enum class Role : uint8_t {
    Batch,   // both operands and the result have it
    Own,     // the result has it from this operand alone
    Summed,  // both operands have it, the result does not: their products are summed over it
    Alone,   // nothing else has it: summed over before anything is multiplied
  };
  std::array<std::string, 2> operands;
  std::string result;

  Role role(size_t operand, size_t axis) const;
  // The equation with its letters renamed to a, b, c ... in the order in which they come.
  std::string renamed() const;
};

// Spaces mean nothing. An operand may name two axes by one letter: its diagonal. Throws
// InvalidFile, naming the equation, for what is not of the form ab,bc->ac, for names of axes that
// are no ASCII letters, and for a result with a letter twice or with one that no operand has.
Einsum parse_einsum(std::string_view equation);

}  // namespace pippin::mil
