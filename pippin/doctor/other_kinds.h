// What no other rule sees into: broken packages, and files that Core ML runs and that hold no ML
// Program.
#pragma once

#include "pippin/doctor/rule.h"

namespace pippin::doctor {

inline constexpr Rule kUnreadable = {
    .id = "unreadable",
    .severity = Severity::Error,
    .what = "A package of the folder cannot be read",
    .why = "What is cut off, damaged or no package is refused by every system",
    .source = "Pippin's reader",
    .remedy = "Copy or download the package again; a single one is refused with the same words"};

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
