// Elementwise functions over whole nodes of any strides and types: the evaluation of unary, binary
// and ternary primitives.
//
// The first input's memory becomes the result's if nothing else needs it.
#pragma once

#include "pippin/mx/core/node.h"
#include "pippin/mx/loops/binary_loops.h"
#include "pippin/mx/loops/unary_loops.h"

namespace pippin::mx {

// The input must have the result's type and shape.
void map_unary(Node& out, UnaryFunction function, Kind kind, int cost);
// The inputs must have the result's type, and broadcast to its shape.
void map_binary(Node& out, BinaryFunction function, Kind kind, int cost);
// The same with a bool result.
void map_compare(Node& out, BinaryFunction function, Kind kind);
// Input 0, a bool, chooses between the other two, which have the result's type.
void map_select(Node& out);

}  // namespace pippin::mx
