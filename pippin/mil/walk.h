// Visits every constant of a program.
#pragma once

#include <functional>

#include "pippin/mil/program.h"

namespace pippin::mil {

// The position of a constant, as passed to a visitor.
struct ConstantPlace {
  std::string_view function;   // empty: an attribute of the program
  const Operation* operation;  // null: an attribute of the program, a function or a block
  std::string_view name;       // of the parameter or attribute
  // The constant is itself a parameter or attribute of an operation; false for attributes of
  // anything else, for constants inside a tuple, list or dictionary, and for attributes of types.
  bool operand;
};

// "function 'main': const 'w': val"
std::string to_string(const ConstantPlace& place);

using ConstantVisit = std::function<void(const Value& value, const ConstantPlace& place)>;

// Calls visit for every constant, in an order that depends on the program alone: parameters and
// attributes of operations, attributes of everything else, and the constants inside these. The
// program is const here; a visitor that owns the program may cast the value back.
void for_each_constant(const Program& program, const ConstantVisit& visit);

// Releases the pages of mapped weight files because the weights will not be read again soon.
void release_weights(const Program& program);

}  // namespace pippin::mil
