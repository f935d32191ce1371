// Settings of a served model: of the command line for all models, or of a preset for one.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "pippin/app/open/draft_choice.h"
#include "pippin/app/open/open_model.h"
#include "pippin/app/sampling_choice.h"
#include "pippin/scheduling/scheduler.h"
#include "pippin/server/request_fields.h"

namespace pippin::server {

struct ModelSettings {
  app::ModelChoice choice;  // the path is the entry's
  app::DraftChoice draft;
  scheduling::SchedulerOptions scheduler;
  app::SamplingChoice sampling;      // overrides the model's recommendation
  std::vector<FieldDefault> fields;  // for requests that lack them
  // Idle time before it is unloaded; negative: until memory is short. ModelList::keep() overrides
  // it.
  std::chrono::milliseconds keep_alive{-1};
  bool is_pinned = false;              // never unloaded, for room or because it is idle
  std::optional<bool> loads_at_start;  // nothing: the first model and pinned ones
};

}  // namespace pippin::server
