// Which files make a language model: the one table that is read where they are fetched, opened,
// converted and packed. A file that another place should know gets its row here.
//
// Names are relative to the model's folder; a '*' stands for any characters but '/'.
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
  Tokenizer,      // what a tokenizer is read from, best first
  TokenizerPart,  // read in addition, or by other tools
  ChatTemplate,
  SentenceTexts,   // how sentence-transformers prepares texts
  SentenceModule,  // what follows its encoder
  Processor,       // of pictures and sound
  Family,          // how the packages of a folder belong together
};

struct ModelFile {
  FileRole role;
  std::string_view name;
  std::string_view beside = {};  // a file without which this one does not count
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
    ModelFile{FileRole::SentenceModule, "*_StaticEmbedding/tokenizer.json"},
    ModelFile{FileRole::SentenceModule, "*_StaticEmbedding/model.safetensors"},
    ModelFile{FileRole::SentenceModule, "*_StaticEmbedding/pytorch_model.bin"},
    ModelFile{FileRole::Processor, "preprocessor_config.json"},
    ModelFile{FileRole::Processor, "processor_config.json"},
    ModelFile{FileRole::Family, "meta.yaml"},
    ModelFile{FileRole::Family, "meta.yml"},
    ModelFile{FileRole::Family, "meta.json"},
};

// The ways in which a checkpoint's folder holds weights, best first: one file, or those that an
// index names, or all that fit the pattern.
struct WeightFiles {
  std::string_view single, index, pattern;
};
inline constexpr std::array kWeightFiles = {
    WeightFiles{"model.safetensors", "model.safetensors.index.json", "*.safetensors"},
    WeightFiles{"pytorch_model.bin", "pytorch_model.bin.index.json", "pytorch_model*.bin"},
    WeightFiles{"weights.npz", "weights.npz.index.json", "weights*.npz"},
    WeightFiles{"model.gguf", "model.gguf.index.json", "*.gguf"},
};

// Whether a file's name fits the pattern, and is none of another form of the same weights
// (Mistral's consolidated*) or of adapters (adapter_*).
bool fits_weights(const WeightFiles& form, std::string_view name);

// The row of a path relative to the model's folder; null: the model is made without it.
const ModelFile* find_model_file(std::string_view path);

// What of `folder` a row stands for, by name. Throws LimitExceeded for more than kMostModelFiles.
std::vector<std::filesystem::path> files_of_row(const std::filesystem::path& folder,
                                                const ModelFile& row);
inline constexpr size_t kMostModelFiles = 256;

// The same for all rows of a role, in the table's order.
std::vector<std::filesystem::path> files_of_role(const std::filesystem::path& folder,
                                                 FileRole role);

// Whether a folder has weights of any form.
bool has_weights(const std::filesystem::path& folder);

}  // namespace pippin
