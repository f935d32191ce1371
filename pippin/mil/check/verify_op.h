// The part of the verifier that uses the op table.
#pragma once

#include "pippin/mil/program.h"

namespace pippin::mil {

// Throws InvalidFile if the operation lacks a required parameter, has one that its entry does not
// list, binds one to a value of a kind or element type that it does not accept, or needs a newer
// opset. An op without an entry passes.
void verify_against_table(const Operation& operation, Opset opset);

}  // namespace pippin::mil
