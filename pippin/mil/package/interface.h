// The interface of a program that has no description.
#pragma once

#include "pippin/mil/model.h"

namespace pippin::mil {

// Makes a model from a program without a description (model.mil): the interface follows from the
// functions' types and their FlexibleShapeInformation, the attribute in which Core ML's compiler
// keeps default shapes, ranges and enumerated shapes. Throws InvalidFile for a function without its
// block.
Model describe_program(Program program);

// Removes the attributes that only compiled programs have; the description contains the same facts.
void drop_flexible_shapes(Program& program);

}  // namespace pippin::mil
