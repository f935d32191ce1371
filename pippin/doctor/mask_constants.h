// The constants that take part in what is added to scores before a softmax.
#pragma once

#include <vector>

#include "pippin/doctor/subject.h"

namespace pippin::doctor {

struct MaskConstant {
  const mil::Operation* operation;  // that takes it
  const mil::Value* value;          // of a const, or a literal
  bool infinite = false;            // an element is
  bool masked_row = false;          // a row of the last axis is -infinity alone
  double beyond = 0;                // a finite element that fp16 has not; 0: none is
};

// Of up to a few million elements, whose bytes are there.
std::vector<MaskConstant> mask_constants(const FunctionView& function);

// Whether it makes NaN or infinities in fp16 (rule softmax-mask).
bool is_bad_mask(const MaskConstant& mask);

}  // namespace pippin::doctor
