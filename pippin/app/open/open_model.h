// Opens the commands' MODEL: a package, a folder of packages, a Hugging Face folder, or the demo
// model if empty.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "pippin/base/error.h"
#include "pippin/hub/pull.h"
#include "pippin/runtime/open/loaded_model.h"

namespace pippin::app {

// Called before a repository is pulled: sets the progress callbacks of the pull. Its result is kept
// until the pull is over.
using PullObserver =
    std::function<std::shared_ptr<void>(const std::string& repository, hub::PullOptions& options)>;

// As LoadOptions::encoder of a GGML file: not even that of a package next to it.
inline constexpr const char* kNoEncoder = "none";

struct ModelChoice {
  std::string path;       // empty: the demo model in the binary
  std::string tokenizer;  // folder or tokenizer.json; empty: the model's own
  runtime::LoadOptions load;
  PullObserver pulls = {};   // may be null
  bool layers = false;       // a Hugging Face folder also returns each layer's output, for verify
  std::string decoder = {};  // a shard of a Whisper decoder (speech/sharded_model.h); empty: none
  std::string vad = {};      // a model of voice (open/voice_model.h), for recordings; empty: none
  // Of resolve_choice(): why the vision tower next to a GGUF file is not used.
  std::optional<Error> images_error = {};
};

// Throws NotFound for a missing path or part, InvalidArgument if it is neither a package nor a
// folder, Unsupported for a package without an ML Program.
runtime::LoadedModel open_model(const ModelChoice& choice);
// The same without a tokenizer: none is needed, and `choice.tokenizer` is ignored.
runtime::RunnableModel open_runnable(const ModelChoice& choice);

// The model's context length: its context, or more if that was limited to fit this machine's memory
// or by LoadOptions::context.
int64_t own_context(const runtime::RunnableModel& model);

// The model without text; its head's input (hidden_output.h) is the only part that
// Sequence::trace() reports. Also has the folder or package on this machine. Throws Unsupported for
// models of several packages.
struct HiddenModel : runtime::RunnableModel {
  std::filesystem::path path;  // empty: the demo model
};
HiddenModel open_hidden(const ModelChoice& choice);

}  // namespace pippin::app
