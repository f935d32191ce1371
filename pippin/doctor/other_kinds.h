// Files that Core ML runs and that hold no ML Program: no other rule sees into them.
#pragma once

#include "pippin/doctor/rule.h"

namespace pippin::doctor {

inline constexpr Rule kOtherKind = {
    .id = "other-kind",
    .severity = Severity::Warning,
    .what = "The model is not an ML Program (a neural network, a tree ensemble, ...)",
    .why =
        "Its operations are not in a form that these rules read; ML Programs alone have typed "
        "execution, states and compressed weights for newer systems",
    .source = "Core ML Tools guide, Comparing ML Programs and Neural Networks",
    .remedy = "Convert the original model again with convert_to=\"mlprogram\""};

}  // namespace pippin::doctor
