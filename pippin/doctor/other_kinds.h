// Models that no other rule covers: broken packages, and kinds other than ML Programs.
#pragma once

#include <string_view>

#include "pippin/doctor/rule.h"

namespace pippin::doctor {

inline constexpr Rule kUnreadable = {
    .id = "unreadable",
    .severity = Severity::Error,
    .what = "A package of the folder cannot be read",
    .why =
        "Every system rejects truncated, damaged and invalid packages; no rule covers a form that "
        "Pippin does not know",
    .source = "Pippin's reader",
    .remedy =
        "Copy or download damaged packages again; a single one is rejected with the same error"};

inline constexpr Rule kOtherKind = {
    .id = "other-kind",
    .severity = Severity::Warning,
    .what = "The model is a neural network in the form before ML Programs",
    .why =
        "ML Programs alone have typed execution, states and compressed weights for newer systems; "
        "the other findings are about its form as an ML Program",
    .source = "Core ML Tools guide, Comparing ML Programs and Neural Networks",
    .remedy = "pippin repackage MODEL.mlmodel -o NEW.mlpackage writes it as an ML Program"};

inline constexpr Rule kCpuKind = {
    .id = "cpu-kind",
    .severity = Severity::Note,
    .what =
        "The model is of a kind that the CPU computes (trees, linear models, support vectors, "
        "nearest neighbours, transforms of features, suppression of boxes, ...)",
    .why = "Such kinds have no operations, no units to choose and no form as an ML Program",
    .source = "Model.proto, the kinds of models",
    .remedy = "Nothing has to be done"};

inline constexpr Rule kClosedKind = {
    .id = "closed-kind",
    .severity = Severity::Note,
    .what = "Only Apple's systems, or an app, can compute the model",
    .why =
        "A framework of the system has its weights or its format, or an app has its code: other "
        "systems and Pippin show its interface alone",
    .source = "Model.proto, the kinds of models",
    .remedy = "To run it elsewhere, train a model of another kind"};

// By the kind's name: "neuralNetworkClassifier", "GLM regressor".
inline const Rule& rule_of_kind(std::string_view kind) {
  return kind.starts_with("neuralNetwork") ? kOtherKind : kCpuKind;
}

}  // namespace pippin::doctor
