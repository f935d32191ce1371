// A language model that runs, alone or with everything that text needs: tokenizer, chat template,
// end tokens.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "pippin/base/error.h"
#include "pippin/base/thread_pool.h"
#include "pippin/chat/chat_template.h"
#include "pippin/mil/model.h"
#include "pippin/runtime/generation_config.h"
#include "pippin/runtime/load_options.h"
#include "pippin/runtime/model.h"
#include "pippin/runtime/open/package_family.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::runtime {

// The model keeps what it uses, so that its sequences may outlive this.
struct RunnableModel {
  std::shared_ptr<ThreadPool> pool;
  std::shared_ptr<const mil::Model> program;  // null where the model has its own
  std::shared_ptr<Model> model;
};

struct ModelText {
  Tokenizer tokenizer;
  std::optional<ChatTemplate> chat_template;
  std::optional<Error> template_error;  // of a template that cannot be used: plain text still can
  GenerationConfig config;
};

struct LoadedModel : RunnableModel, ModelText {};

// Whether a package takes a model's next tokens and gives logits, as make_runnable() needs it.
bool is_language_model(const mil::Model& model);

// For callers that have ids and want logits. A program of the stateful family.
RunnableModel make_runnable(mil::Model model, const LoadOptions& options = {});
// Packages of any family.
RunnableModel make_runnable(FoundPackages packages, const LoadOptions& options = {});

// `text` is a folder with tokenizer.json and the other text files of a Hugging Face model, or a
// tokenizer.json alone. While `build` gives the model, which is then made runnable, another thread
// reads it, unless the options ask for one thread. What the model throws counts first.
LoadedModel load_model(const std::function<mil::Model()>& build, const std::filesystem::path& text,
                       const LoadOptions& options = {});
// `text` may be empty: the packages' own tokenizer. What meta.yaml recommends for sampling counts
// before the files next to the tokenizer.
LoadedModel load_model(FoundPackages packages, std::filesystem::path text,
                       const LoadOptions& options = {});

}  // namespace pippin::runtime
