// LoRA adapters in llama.cpp's form, a GGUF file with the key general.type
// "adapter", adapter.type "lora", adapter.lora.alpha (without it, or with 0, the product is added
// as it is), and for each matrix NAME.weight of the model
// NAME.weight.lora_a (rank, in) and .lora_b (out, rank). Of the table of tokens, lora_a is (rows,
// rank). The converter changes lora_b as the rows of the model's matrix.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "pippin/io/json.h"
#include "pippin/nn/decoder.h"
#include "pippin/nn/weights/lora.h"

namespace pippin::models {

// The file, if the path is a GGUF or a folder with one and without adapter_config.json; else empty.
// Throws InvalidArgument for a folder with several.
std::filesystem::path find_gguf_adapter(const std::filesystem::path& path);

// `config`: the model's configuration. Throws InvalidFile for a file that is not an adapter or is
// one of another architecture; Unsupported, naming the tensor, for changes of other parts than
// matrices, and for quantized ones.
std::shared_ptr<const nn::LoraAdapter> open_gguf_adapter(const std::filesystem::path& file,
                                                         const Json& config,
                                                         const nn::DecoderOptions& model);

// Says, in the description of a checkpoint of Hugging Face, how a GGUF of it has the rows of its
// matrices. Throws as above.
void add_gguf_form(const std::filesystem::path& adapter, nn::DecoderOptions& model);

}  // namespace pippin::models
