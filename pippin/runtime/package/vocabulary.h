// The size of a program's vocabulary, found in its operations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pippin/mil/model.h"
#include "pippin/runtime/package/step_schema.h"

namespace pippin::runtime {

// The number of rows of the table that ids are looked up in; empty if none exists.
std::optional<int64_t> embedding_rows(const mil::Model& model, const StepSchema& step);

// The reason why the outputs of the step are not logits; empty if they are. Outputs with far fewer
// numbers than the vocabulary has tokens are hidden states or scores of classes.
std::optional<std::string> not_logits(const mil::Model& model, const StepSchema& step);

}  // namespace pippin::runtime
