// The size of a program's vocabulary, as its operations show it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pippin/mil/model.h"
#include "pippin/runtime/package/step_schema.h"

namespace pippin::runtime {

// The rows of the table that the ids are looked up in; nothing without one.
std::optional<int64_t> embedding_rows(const mil::Model& model, const StepSchema& step);

// Why the outputs of the step are not logits, or nothing: numbers that are far fewer than the
// tokens that it knows are states or scores of classes.
std::optional<std::string> not_logits(const mil::Model& model, const StepSchema& step);

}  // namespace pippin::runtime
