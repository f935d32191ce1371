// Functions of elements, over whole nodes of any strides and types: what unary, binary and ternary
// primitives are evaluated by.
//
// The first input's memory becomes the result's where nobody else needs it.
#pragma once

#include "pippin/mx/binary_loops.h"
#include "pippin/mx/node.h"
#include "pippin/mx/unary_loops.h"

namespace pippin::mx {

// The input has the result's type and shape.
void map_unary(Node& out, UnaryFunction function, Kind kind, int cost);
// The inputs have one type, the result's, and broadcast to its shape.
void map_binary(Node& out, BinaryFunction function, Kind kind, int cost);
// The same into a bool.
void map_compare(Node& out, CompareFunction function, Kind kind);
// Input 0, a bool, chooses between the other two, which have the result's type.
void map_select(Node& out);

}  // namespace pippin::mx
