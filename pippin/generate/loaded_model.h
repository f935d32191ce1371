// A language model that runs, alone or with everything that text needs: tokenizer, chat template,
// end tokens.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "pippin/base/thread_pool.h"
#include "pippin/chat/chat_template.h"
#include "pippin/generate/generation_config.h"
#include "pippin/generate/language_model.h"
#include "pippin/mil/package.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::generate {

struct LoadOptions {
  int64_t context = 0;  // at most the model's; 0: the model's
  int threads = 0;      // 0: as many as there are cores
};

struct RunnableModel {
  // In the order in which each uses the ones before it.
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<const mil::Model> program;
  std::unique_ptr<LanguageModel> language_model;
};

struct LoadedModel : RunnableModel {
  Tokenizer tokenizer;
  std::optional<ChatTemplate> chat_template;
  GenerationConfig config;
};

// For callers that have ids and want logits.
RunnableModel make_runnable(mil::Model model, const LoadOptions& options = {});

// `text` is a folder with tokenizer.json and what a Hugging Face model has beside it, or a
// tokenizer.json alone.
LoadedModel load_model(mil::Model model, const std::filesystem::path& text,
                       const LoadOptions& options = {});

// The folder inside a package that holds its tokenizer. Throws NotFound where there is none, with
// the name of the model that the package was made from where it says so.
std::filesystem::path tokenizer_folder(const mil::Model& package);

}  // namespace pippin::generate
