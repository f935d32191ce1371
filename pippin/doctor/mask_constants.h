// The constants that contribute to masks added to scores before a softmax.
#pragma once

#include <vector>

#include "pippin/doctor/subject.h"

namespace pippin::doctor {

struct MaskConstant {
  const mil::Operation* operation;  // the operation that uses it
  const mil::Value* value;          // in a const, or a literal
  bool infinite = false;            // has an infinite element
  bool masked_row = false;          // a row of the last axis is all -infinity
  double beyond = 0;                // a finite element that overflows fp16; 0: none
};

// Only constants of up to a few million elements with available bytes.
std::vector<MaskConstant> mask_constants(const FunctionView& function);

// Whether it causes NaN or infinities in fp16 (rule softmax-mask).
bool is_bad_mask(const MaskConstant& mask);

}  // namespace pippin::doctor
