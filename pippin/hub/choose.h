// Chooses the files of a repository that a model needs.
//
// A repository may hold the same model in many forms. One is chosen: Core ML packages if there are
// any at the top (or no checkpoint), else the checkpoint: safetensors, else PyTorch's .bin. The
// files for text are added: configuration, tokenizer, chat template.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pippin/hub/answers.h"

namespace pippin::hub {

struct ChooseOptions {
  // Patterns that choose from all files instead; a pattern that ends with '/' is a folder.
  std::vector<std::string> include;
  // Always excluded.
  std::vector<std::string> exclude;
  // One of several packages, or any folder or file; empty: the repository.
  std::string path;
  std::string gguf;       // tag of a GGUF model (gguf_files.h); empty: any
  bool projector = true;  // along with a GGUF model its vision tower, if the repository has one
  // Only the files for text.
  bool tokenizer_only = false;
};

struct Choice {
  std::vector<RepoFile> files;
  // The file that names the weights; choose them after reading it. Empty: none.
  std::string index;
  // Relative paths of Core ML packages, folders or files; none for a checkpoint.
  std::vector<std::string> packages;
};

// `repo` is for messages. Throws NotFound if nothing fits, InvalidArgument if the choice between
// packages is ambiguous.
Choice choose_files(const std::vector<RepoFile>& files, const ChooseOptions& options,
                    std::string_view repo);

// Returns the files that the index names. Throws NotFound if one is missing.
std::vector<RepoFile> choose_shards(const std::vector<RepoFile>& files, const Json& index,
                                    const ChooseOptions& options);

}  // namespace pippin::hub
