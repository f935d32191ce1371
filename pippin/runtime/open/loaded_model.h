// A language model that is ready to run, alone or with the files for text: tokenizer, chat
// template, end tokens.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "pippin/base/error.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/chat/chat_template.h"
#include "pippin/mil/model.h"
#include "pippin/runtime/generation_config.h"
#include "pippin/runtime/load_options.h"
#include "pippin/runtime/model.h"
#include "pippin/runtime/open/package_family.h"
#include "pippin/runtime/vision/image_input.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::runtime {

// The model keeps the objects that it uses, so its sequences may outlive this struct.
struct RunnableModel {
  std::shared_ptr<ThreadPool> pool;
  std::shared_ptr<const mil::Model> program;  // null if the family does not use one
  std::shared_ptr<Model> model;
  std::string device = "cpu";  // that runs it, which may not be that of the options
};

struct ModelText {
  Tokenizer tokenizer;
  std::optional<ChatTemplate> chat_template;
  std::optional<Error> template_error;  // if the template is not usable; plain text still works
  GenerationConfig config;
};

struct LoadedModel : RunnableModel, ModelText {
  std::shared_ptr<ImageInput> images;  // null: the model takes text only
  // Why `images` is null although the model has a vision tower: its processor is not supported.
  std::optional<Error> images_error;

  // Returns `images`. Throws Unsupported for a model that takes text only, with `name`, that of the
  // first image, at the beginning.
  ImageInput& image_input(const std::string& name) const;
};

// Whether the package takes a model's next tokens and returns logits, as make_runnable() requires.
bool is_language_model(const mil::Model& model);

// For callers that work with ids and logits only. Takes a program of the stateful family.
RunnableModel make_runnable(mil::Model model, const LoadOptions& options = {});
// Takes packages of any family.
RunnableModel make_runnable(FoundPackages packages, const LoadOptions& options = {});

// `text` is a folder with tokenizer.json and the other text files of a Hugging Face model, or a
// tokenizer.json alone. `build` returns the model, which is then made runnable; meanwhile another
// thread reads `text`, unless the options ask for one thread. If both fail, the model's error is
// thrown.
LoadedModel load_model(const std::function<mil::Model()>& build, const std::filesystem::path& text,
                       const LoadOptions& options = {});
// `text` may be empty: the packages' own tokenizer. Sampling options in meta.yaml override the
// files next to the tokenizer.
LoadedModel load_model(FoundPackages packages, std::filesystem::path text,
                       const LoadOptions& options = {});

}  // namespace pippin::runtime
