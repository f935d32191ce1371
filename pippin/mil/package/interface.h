// The interface of a program that comes without a description.
#pragma once

#include "pippin/mil/model.h"

namespace pippin::mil {

// A model around a program that comes alone (model.mil): its interface is read off the functions'
// types and their FlexibleShapeInformation, the attribute in which Core ML's compiler keeps default
// shapes, ranges and enumerated shapes. Throws InvalidFile for a function without its block.
Model describe_program(Program program);

// Takes the attributes out that only compiled programs have; the description says the same.
void drop_flexible_shapes(Program& program);

}  // namespace pippin::mil
