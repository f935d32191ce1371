// Which of a repository's files a model needs.
//
// A repository may hold the same model many times over. One form is chosen: the Core ML packages
// where it has them at its top (or has no checkpoint), else the checkpoint: safetensors, else
// PyTorch's .bin. What text needs comes along: configuration, tokenizer, chat template.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pippin/hub/answers.h"

namespace pippin::hub {

struct ChooseOptions {
  // Patterns that choose from all files instead; one that ends with '/' is a folder.
  std::vector<std::string> include;
  // Left out in any case.
  std::vector<std::string> exclude;
  // One package of several, or any folder or file; empty: the repository.
  std::string path;
  std::string gguf;  // of a GGUF model, see gguf_files.h; empty: any
  // Only what text needs.
  bool tokenizer_only = false;
};

struct Choice {
  std::vector<RepoFile> files;
  // Names the files that hold the weights, which have to be chosen after it was read; empty: none.
  std::string index;
  // Folders or files, relative, that are Core ML packages; none for a checkpoint.
  std::vector<std::string> packages;
};

// `repo` is for messages. Throws NotFound where nothing fits, InvalidArgument where several
// packages could be meant.
Choice choose_files(const std::vector<RepoFile>& files, const ChooseOptions& options,
                    std::string_view repo);

// Those of `files` that the index names. Throws NotFound for one that is not there.
std::vector<RepoFile> choose_shards(const std::vector<RepoFile>& files, const Json& index,
                                    const ChooseOptions& options);

}  // namespace pippin::hub
