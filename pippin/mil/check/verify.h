// The verifier: a program that passes can be planned, as far as the program alone can show.
#pragma once

#include "pippin/mil/program.h"

namespace pippin::mil {

// Throws InvalidFile naming function, operation and value for: names defined twice in overlapping
// scopes, values used before or outside their definition, bindings to other functions' values,
// missing blocks or opsets, block and function outputs that do not exist, constants whose size
// disagrees with their type, malformed types; and, for ops of the table: missing or unknown
// parameters, wrong element types, an opset that is too old. Ops that the table lacks pass here and
// fail with Unsupported when a plan is made.
void verify(const Program& program);

}  // namespace pippin::mil
