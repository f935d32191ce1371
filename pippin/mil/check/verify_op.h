// The verifier's part that asks the op table.
#pragma once

#include "pippin/mil/program.h"

namespace pippin::mil {

// Throws InvalidFile where the operation lacks a parameter that its entry requires, has one that
// the entry does not know, binds one to a value of a kind or element type that it does not take, or
// needs a newer opset. An op without an entry passes.
void verify_against_table(const Operation& operation, Opset opset);

}  // namespace pippin::mil
