// Resolves a command's MODEL of the form org/name: the Hub repository of that name, from the cache
// or pulled into it. An existing path takes precedence.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "pippin/app/open/open_model.h"
#include "pippin/hub/pull.h"

namespace pippin::app {

// Files: a GGUF is returned as that file. Package: a checkpoint is rejected with InvalidArgument.
enum class ModelPart { All, Tokenizer, Files, Package };

// The repository that `model` names; nullopt if it is a local path or looks like one.
std::optional<hub::RepoSpec> repository_of(const std::string& model);

// The local file or folder of MODEL: itself or, for a repository, the pulled package if it is a
// single one, otherwise the snapshot's folder. Throws as hub::pull().
std::string resolve_model(const std::string& model, ModelPart part = ModelPart::All,
                          const PullObserver& pulls = {});

// The same if it is already on this machine, without using the network. A GGUF is returned as that
// file.
std::optional<std::string> find_local_model(const std::string& model);

// The same for a model and its tokenizer. For a repository of packages without a tokenizer, uses
// that of the model which the packages say they were made from; throws NotFound if they do not say.
// If `text` is false, does not look for a tokenizer.
ModelChoice resolve_choice(const ModelChoice& choice, bool text = true);

// Text files of the model from which a pulled package without a tokenizer was made.
struct PulledTokenizer {
  std::string repo;
  std::filesystem::path folder;
};
// Nullopt if the packages or the repository have a tokenizer, or none is named.
std::optional<PulledTokenizer> pull_named_tokenizer(const hub::PullResult& pulled,
                                                    const hub::Settings& settings,
                                                    const hub::PullOptions& options);

}  // namespace pippin::app
