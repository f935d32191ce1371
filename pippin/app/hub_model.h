// Where a command's MODEL is org/name: the Hub's repository of that name, from the cache or pulled
// into it. A path that exists wins.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "pippin/app/open_model.h"
#include "pippin/hub/pull.h"

namespace pippin::app {

// Files: a GGUF stays that file. Package: a checkpoint is refused, InvalidArgument.
enum class ModelPart { All, Tokenizer, Files, Package };

// The repository that `model` names; nothing if that is a local path, or has the form of one.
std::optional<hub::RepoSpec> repository_of(const std::string& model);

// The local file or folder of MODEL: itself, or what was pulled of its repository: the package
// where it is a single one, else the snapshot's folder. Throws what hub::pull() does.
std::string resolve_model(const std::string& model, ModelPart part = ModelPart::All,
                          const PullObserver& pulls = {});

// The same where it is on this machine already, without asking the network. A GGUF stays that file.
std::optional<std::string> find_local_model(const std::string& model);

// The same for a model and its tokenizer. A repository of packages without a tokenizer gets that of
// the model which the packages say they were made from; throws NotFound if they do not say. With
// `text` false no tokenizer is looked for.
ModelChoice resolve_choice(const ModelChoice& choice, bool text = true);

// Files of text of the model that a pulled package without a tokenizer was made from.
struct PulledTokenizer {
  std::string repo;
  std::filesystem::path folder;
};
// Nothing if the packages have a tokenizer, or the repository has, or none is named.
std::optional<PulledTokenizer> pull_named_tokenizer(const hub::PullResult& pulled,
                                                    const hub::Settings& settings,
                                                    const hub::PullOptions& options);

}  // namespace pippin::app
