// For tests only: a model with a sequence of it.
#pragma once

#include <memory>
#include <utility>

#include "pippin/generate/loaded_model.h"
#include "pippin/generate/sequence.h"

namespace pippin::testing_models {

struct OpenedModel : generate::RunnableModel {
  // NOLINTNEXTLINE(google-explicit-constructor): what opens a model gives one of these
  OpenedModel(generate::RunnableModel runnable)
      : RunnableModel(std::move(runnable)), sequence(model->new_sequence()) {}
  std::unique_ptr<generate::Sequence> sequence;
};

}  // namespace pippin::testing_models
