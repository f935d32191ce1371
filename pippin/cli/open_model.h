// What the commands call MODEL: a package, a folder of packages, a Hugging Face folder, or nothing
// for the demo model.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "pippin/generate/loaded_model.h"

namespace pippin::cli {

struct ModelChoice {
  std::string path;       // empty: the demo model that is in the binary
  std::string tokenizer;  // folder or tokenizer.json; empty: the model's own
  generate::LoadOptions load;
  bool layers = false;  // a Hugging Face folder gives what leaves each layer, for verify
};

// Throws NotFound for a path or a part that is not there, InvalidArgument for what is neither
// package nor folder, Unsupported for a package that holds no ML Program.
generate::LoadedModel open_model(const ModelChoice& choice);
// The same without a tokenizer: none is needed, and `choice.tokenizer` is not looked at.
generate::RunnableModel open_runnable(const ModelChoice& choice);

}  // namespace pippin::cli
