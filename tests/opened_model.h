// For tests only: a model with one sequence.
#pragma once

#include <memory>
#include <utility>

#include "pippin/runtime/open/loaded_model.h"
#include "pippin/runtime/sequence.h"

namespace pippin::testing_models {

struct OpenedModel : runtime::RunnableModel {
  // NOLINTNEXTLINE(google-explicit-constructor): what opens a model gives one of these
  OpenedModel(runtime::RunnableModel runnable)
      : RunnableModel(std::move(runnable)), sequence(model->new_sequence()) {}
  std::unique_ptr<runtime::Sequence> sequence;
};

}  // namespace pippin::testing_models
