// A model that answers requests.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "pippin/app/answer_form.h"
#include "pippin/app/open/open_model.h"
#include "pippin/model_output/call_syntax.h"
#include "pippin/model_output/reasoning.h"
#include "pippin/scheduling/scheduler.h"
#include "pippin/server/adapters.h"
#include "pippin/server/embedder.h"

namespace pippin::server {

// A loaded model, with the scheduler of its requests.
struct ServedModel {
  // Derives the template's properties: its marks of thoughts, its switch, its form of tool calls.
  ServedModel(std::string called, runtime::LoadedModel opened,
              const scheduling::SchedulerOptions& options);

  std::string name;
  runtime::LoadedModel loaded;
  std::vector<int32_t> end_ids, chat_end_ids;
  std::string template_source;                                    // empty: none
  std::shared_ptr<const model_output::ReasoningMarks> reasoning;  // null: none
  std::string thinking_switch;                                    // of the template (thinking.h)
  std::shared_ptr<const model_output::CallSyntax> calls;          // of tools; null: unknown
  bool takes_tools = false;  // whether the template supports tools
  bool allows_remote_images = false;
  AdapterDefaults adapters;  // until it is unloaded
  std::unique_ptr<app::FormCompiler> forms;
  uint64_t bytes = 0;
  double load_seconds = 0;
  app::ModelChoice choice;                           // as opened
  std::mutex embedder_mutex;                         // guards `embedder`
  std::shared_ptr<Embedder> embedder;                // null: not requested yet
  std::unique_ptr<scheduling::Scheduler> scheduler;  // destroyed first
};

}  // namespace pippin::server
