// The files of a language model, in one table for downloading, opening, converting and packing. A
// new file gets a row here.
//
// Names are relative to the model's folder; a '*' matches any characters except '/'.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace pippin {

enum class FileRole : uint8_t {
  Config,
  Generation,     // how text is sampled, and where it ends
  Tokenizer,      // tokenizer files, best first
  TokenizerPart,  // additional files, also for other tools
  ChatTemplate,
  SentenceTexts,   // text preparation of sentence-transformers
  SentenceModule,  // the modules after its encoder
  Processor,       // for pictures and sound
  Family,          // how the packages of a folder belong together
};

struct ModelFile {
  FileRole role;
  std::string_view name;
  std::string_view required_file = {};  // a file that must exist for this one to count
};

inline constexpr std::array kModelFiles = {
    ModelFile{FileRole::Config, "config.json"},
    ModelFile{FileRole::Generation, "generation_config.json"},
    ModelFile{FileRole::Tokenizer, "tokenizer.json"},
    ModelFile{FileRole::Tokenizer, "tokenizer.model"},
    ModelFile{FileRole::Tokenizer, "spiece.model"},
    ModelFile{FileRole::Tokenizer, "vocab.json", "merges.txt"},
    ModelFile{FileRole::Tokenizer, "*.tiktoken"},
    ModelFile{FileRole::Tokenizer, "tiktoken.model"},
    ModelFile{FileRole::TokenizerPart, "merges.txt"},
    ModelFile{FileRole::TokenizerPart, "added_tokens.json"},
    ModelFile{FileRole::TokenizerPart, "sentencepiece.bpe.model"},
    ModelFile{FileRole::TokenizerPart, "special_tokens_map.json"},
    ModelFile{FileRole::TokenizerPart, "tokenizer_config.json"},
    ModelFile{FileRole::TokenizerPart, "vocab.txt"},
    ModelFile{FileRole::ChatTemplate, "chat_template.jinja"},
    ModelFile{FileRole::ChatTemplate, "additional_chat_templates/*.jinja"},
    ModelFile{FileRole::ChatTemplate, "chat_template.json"},
    ModelFile{FileRole::SentenceTexts, "config_sentence_transformers.json"},
    ModelFile{FileRole::SentenceTexts, "sentence_*_config.json"},
    ModelFile{FileRole::SentenceModule, "modules.json"},
    ModelFile{FileRole::SentenceModule, "*_Pooling/config.json"},
    ModelFile{FileRole::SentenceModule, "*_Dense/config.json"},
    ModelFile{FileRole::SentenceModule, "*_Dense/model.safetensors"},
    ModelFile{FileRole::SentenceModule, "*_Dense/pytorch_model.bin"},
    ModelFile{FileRole::SentenceModule, "*_LayerNorm/config.json"},
    ModelFile{FileRole::SentenceModule, "*_LayerNorm/model.safetensors"},
    ModelFile{FileRole::SentenceModule, "*_LayerNorm/pytorch_model.bin"},
    ModelFile{FileRole::SentenceModule, "*_LogitScore/config.json"},
    ModelFile{FileRole::SentenceModule, "*_SpladePooling/config.json"},
    ModelFile{FileRole::SentenceModule, "*_MultiVectorMask/config.json"},
    ModelFile{FileRole::SentenceModule, "*_Normalize/config.json"},
    ModelFile{FileRole::SentenceModule, "*_StaticEmbedding/tokenizer.json"},
    ModelFile{FileRole::SentenceModule, "*_StaticEmbedding/model.safetensors"},
    ModelFile{FileRole::SentenceModule, "*_StaticEmbedding/pytorch_model.bin"},
    ModelFile{FileRole::Processor, "preprocessor_config.json"},
    ModelFile{FileRole::Processor, "video_preprocessor_config.json"},
    ModelFile{FileRole::Processor, "processor_config.json"},
    ModelFile{FileRole::Family, "meta.yaml"},
    ModelFile{FileRole::Family, "meta.yml"},
    ModelFile{FileRole::Family, "meta.json"},
};

// The forms of weights in a checkpoint's folder, best first: one file, the files in an index, or
// all files that match the pattern.
struct WeightFiles {
  std::string_view single, index, pattern;
};
inline constexpr std::array kWeightFiles = {
    WeightFiles{"model.safetensors", "model.safetensors.index.json", "*.safetensors"},
    WeightFiles{"pytorch_model.bin", "pytorch_model.bin.index.json", "pytorch_model*.bin"},
    WeightFiles{"weights.npz", "weights.npz.index.json", "weights*.npz"},
    WeightFiles{"model.gguf", "model.gguf.index.json", "*.gguf"},
    WeightFiles{"ggml-model.bin", "ggml-model.bin.index.json", "ggml-*.bin"},
};

// Returns whether a file name matches the pattern, and is neither another form of the same weights
// (Mistral's consolidated*) nor an adapter (adapter_*).
bool fits_weights(const WeightFiles& form, std::string_view name);

// Returns whether a file's name is that of a vision tower next to a language model's GGUF file, by
// llama.cpp's convention: mmproj-model-f16.gguf.
bool is_projector_name(std::string_view name);

// Returns the row of a path relative to the model's folder; null if the model does not need the
// file.
const ModelFile* find_model_file(std::string_view path);

// Returns the files of `folder` that match a row, by name. Throws LimitExceeded for more than
// kMostModelFiles.
std::vector<std::filesystem::path> files_of_row(const std::filesystem::path& folder,
                                                const ModelFile& row);
inline constexpr size_t kMostModelFiles = 256;

// Returns the files for all rows of a role, in table order.
std::vector<std::filesystem::path> files_of_role(const std::filesystem::path& folder,
                                                 FileRole role);

// Returns whether a folder has weights in any form.
bool has_weights(const std::filesystem::path& folder);

}  // namespace pippin
