// Emits elementwise steps, for rules and fusions.
#pragma once

#include <string>

#include "pippin/engine/lowering/builder.h"
#include "pippin/kernels/elementwise/args.h"

namespace pippin::engine {

// op(x) in fp32, in the layout of x.
View unary_step(Builder& builder, std::string name, kernels::UnaryOp op, const View& x,
                float alpha = 0, float beta = 0);

// a + b in fp32, of the same shape.
View sum_step(Builder& builder, std::string name, const View& a, const View& b);

// An operation on one tensor of integers; throws Unsupported if it has no function.
void integer_map(Builder& builder, const mil::Operation& operation);

}  // namespace pippin::engine
