// What the commands call MODEL: a package, a folder of packages, a Hugging Face folder, or nothing
// for the demo model.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "pippin/hub/pull.h"
#include "pippin/runtime/open/loaded_model.h"

namespace pippin::app {

// Called before a repository is pulled: sets what the pull reports to. What it returns is kept
// until the pull is over.
using PullObserver =
    std::function<std::shared_ptr<void>(const std::string& repository, hub::PullOptions& options)>;

struct ModelChoice {
  std::string path;       // empty: the demo model that is in the binary
  std::string tokenizer;  // folder or tokenizer.json; empty: the model's own
  runtime::LoadOptions load;
  PullObserver pulls = {};  // null: nobody looks on
  bool layers = false;      // a Hugging Face folder gives what leaves each layer, for verify
};

// Throws NotFound for a missing path or part, InvalidArgument for what is neither
// package nor folder, Unsupported for a package that holds no ML Program.
runtime::LoadedModel open_model(const ModelChoice& choice);
// The same without a tokenizer: none is needed, and `choice.tokenizer` is not looked at.
runtime::RunnableModel open_runnable(const ModelChoice& choice);

// The positions that the model was made for: its context, or more where that was chosen for the
// memory of this machine or by LoadOptions::context.
int64_t own_context(const runtime::RunnableModel& model);

// The model without text, with what its head multiplies (hidden_output.h) as the one part that
// Sequence::trace() reports, and the folder or package on this machine. Throws Unsupported for
// models of several packages.
struct HiddenModel : runtime::RunnableModel {
  std::filesystem::path path;  // empty: the demo model
};
HiddenModel open_hidden(const ModelChoice& choice);

}  // namespace pippin::app
