// Finds the family of packages at a path, their parts and their tokenizer.
//
// 1. model_config.json and `chunk1`, in the folder or in swa/: CoreML-LLM's bundle
//    (families/coreml_llm.h)
// 2. meta.yaml (or meta.json) with model_info: anemll
// 3. X_chunk1, X_chunk2, ..., cache-processor: windowed
// 4. names like X_embeddings, X_FFN_PF_chunk_01of02, X_lm_head: anemll without meta.yaml
// 5. AudioEncoder or TextDecoder among them: WhisperKit's
// 6. Preprocessor, Encoder, Decoder and JointDecision: FluidAudio's (families/fluidaudio.h)
// 7. `vision` and one more: a language model with its vision tower (families/vision.h)
// 8. one package: by what it declares (stateful/model.h, anemll/model.h)
#pragma once

#include <filesystem>
#include <optional>

#include "pippin/runtime/anemll/files.h"
#include "pippin/runtime/coreml_llm/files.h"
#include "pippin/runtime/package/folder.h"
#include "pippin/runtime/windowed/model.h"

namespace pippin::runtime {

struct FoundPackages {
  enum class Family { Single, Anemll, Windowed, WhisperKit, FluidAudio, CoreMlLlm };
  Family family = Family::Single;
  std::filesystem::path root;     // the path that was given
  std::filesystem::path package;  // Single: the path to read
  std::filesystem::path vision;   // Single: that of its vision tower; empty if it has none
  // From a folder or an archive. It must live while packages are read.
  std::optional<PackageFolder> folder;
  std::optional<AnemllMeta> meta;
  AnemllFiles anemll;
  WindowedFiles windowed;
  CoreMlLlmFiles coreml_llm;

  // The folder with the model's tokenizer. Throws NotFound if none exists; the message names the
  // model that the package was made from, if known.
  std::filesystem::path tokenizer_folder();
};

// Whether a path names packages: one package, a zipped package, or a folder that contains packages
// but no weights of a Hugging Face model.
bool names_packages(const std::filesystem::path& path);

// Throws NotFound (a missing part), InvalidFile, InvalidArgument (several models).
FoundPackages find_packages(const std::filesystem::path& path);

}  // namespace pippin::runtime
