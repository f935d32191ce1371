// For tests only: writes a Hugging Face folder of a Whisper model as a GGML file of whisper.cpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/numbers/float16.h"
#include "pippin/io/checkpoint.h"
#include "pippin/io/json.h"
#include "pippin/sound/mel_filters.h"

namespace pippin::models {

class GgmlWriter {
 public:
  // ggml's numbers of types.
  enum Type : int32_t { F32 = 0, F16 = 1, Q5_0 = 6, Q8_0 = 8 };

  // `matrices`: the type of matrices but positions.
  GgmlWriter(const std::filesystem::path& folder, Type matrices)
      : checkpoint_(Checkpoint::open(folder)),
        config_(Json::load(folder / "config.json", kPythonJson)),
        type_(matrices) {}

  std::vector<std::string> tokens;
  double filter_scale = 1;  // of the mel filters

  void write(const std::filesystem::path& file) {
    bytes_.clear();
    put<uint32_t>(0x67676d6c);
    const int64_t bands = config_.get_int("num_mel_bins");
    for (const char* key :
         {"vocab_size", "max_source_positions", "d_model", "encoder_attention_heads",
          "encoder_layers", "max_target_positions", "d_model", "decoder_attention_heads",
          "decoder_layers", "num_mel_bins"}) {
      put<int32_t>(static_cast<int32_t>(config_.get_int(key)));
    }
    put<int32_t>(type_ == F32 ? 0 : 1);
    constexpr size_t kBins = 201;
    put<int32_t>(static_cast<int32_t>(bands));
    put<int32_t>(kBins);
    for (const sound::MelBand& band : sound::mel_bands({.num_bands = bands,
                                      .fft_size = 400,
                                      .sampling_rate = 16000,
                                      .max_hertz = 8000,
                                      .unit_area = true})) {
      std::vector<float> row(kBins);
      for (size_t i = 0; i < band.weights.size(); ++i) {
        row[band.first_bin + i] = static_cast<float>(filter_scale * band.weights[i]);
      }
      put_all(row);
    }
    put<int32_t>(static_cast<int32_t>(tokens.size()));
    for (const std::string& token : tokens) {
      put<uint32_t>(static_cast<uint32_t>(token.size()));
      bytes_ += token;
    }
    for (const std::string& name : checkpoint_.names()) {
      if (!name.starts_with("proj_out")) put_tensor(checkpoint_.at(name));
    }
    std::ofstream(file, std::ios::binary) << bytes_;
  }

  const std::string& bytes() const { return bytes_; }

  // Of an F32 or BF16 tensor.
  static std::vector<float> values_of(const TensorInfo& tensor) {
    std::vector<float> values(static_cast<size_t>(tensor.num_elements()));
    for (size_t i = 0; i < values.size(); ++i) {
      uint32_t bits = 0;
      const size_t size = tensor.dtype == Dtype::F32 ? 4 : 2;
      std::memcpy(&bits, tensor.bytes.data() + i * size, size);
      if (tensor.dtype == Dtype::BF16) bits <<= 16;
      std::memcpy(&values[i], &bits, sizeof(bits));
    }
    return values;
  }
  // The values that matrices of a type have.
  static std::vector<float> rounded(Type type, std::vector<float> values) {
    if (type == F32) return values;
    for (size_t i = 0; i < values.size(); i += type == F16 ? 1 : 32) {
      if (type == F16) {
        values[i] = to_float(to_float16(values[i]));
        continue;
      }
      const Block block = block_of(type, &values[i]);
      for (size_t k = 0; k < 32; ++k) {
        values[i + k] = to_float(block.scale) * static_cast<float>(block.codes[k]);
      }
    }
    return values;
  }
  Type type_of(const TensorInfo& tensor) const {
    const bool is_plain =
        tensor.shape.size() == 1 || tensor.name.ends_with("embed_positions.weight");
    if (is_plain) return F32;
    return tensor.shape.size() != 2 && type_ > F16 ? F16 : type_;  // convolutions
  }

  // OpenAI's name of a tensor.
  static std::string name_of(std::string name) {
    constexpr std::pair<std::string_view, std::string_view> kParts[] = {
        {"model.", ""},
        {"layers.", "blocks."},
        {"encoder.layer_norm.", "encoder.ln_post."},
        {"decoder.layer_norm.", "decoder.ln."},
        {"embed_positions.weight", "positional_embedding"},
        {"embed_tokens", "token_embedding"},
        {"self_attn_layer_norm", "attn_ln"},
        {"encoder_attn_layer_norm", "cross_attn_ln"},
        {"final_layer_norm", "mlp_ln"},
        {"self_attn", "attn"},
        {"encoder_attn", "cross_attn"},
        {"q_proj", "query"},
        {"k_proj", "key"},
        {"v_proj", "value"},
        {"out_proj", "out"},
        {"fc1", "mlp.0"},
        {"fc2", "mlp.2"}};
    for (const auto& [from, to] : kParts) {
      const size_t place = name.find(from);
      if (place != name.npos) name.replace(place, from.size(), to);
    }
    return name;
  }

 private:
  template <typename T>
  void put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  template <typename T>
  void put_all(const std::vector<T>& values) {
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }

  void put_tensor(const TensorInfo& tensor) {
    const std::vector<float> values = values_of(tensor);
    const std::string name = name_of(tensor.name);
    std::vector<int64_t> shape = tensor.shape;
    if (name.starts_with("encoder.conv") && name.ends_with("bias")) shape.push_back(1);
    const Type type = type_of(tensor);
    put<int32_t>(static_cast<int32_t>(shape.size()));
    put<int32_t>(static_cast<int32_t>(name.size()));
    put<int32_t>(type);
    for (size_t i = shape.size(); i-- > 0;) put<int32_t>(static_cast<int32_t>(shape[i]));
    bytes_ += name;
    if (type == F32) return put_all(values);
    if (type == F16) {
      for (const float value : values) put<uint16_t>(to_float16(value).bits);
      return;
    }
    for (size_t i = 0; i < values.size(); i += 32) put_block(type, values.data() + i);
  }

  // 32 numbers of 8 or 5 bits, each a multiple of the block's scale.
  struct Block {
    float16 scale;
    int codes[32];  // signed
  };
  static Block block_of(Type type, const float* values) {
    float most = 0;
    for (int i = 0; i < 32; ++i) {
      if (std::abs(values[i]) > std::abs(most)) most = values[i];
    }
    const float scale = type == Q8_0 ? std::abs(most) / 127 : most / -16;
    Block block{to_float16(scale), {}};
    const int largest = type == Q8_0 ? 127 : 15;
    for (int i = 0; i < 32 && scale != 0; ++i) {
      block.codes[i] = std::min(static_cast<int>(std::lround(values[i] / scale)), largest);
    }
    return block;
  }

  void put_block(Type type, const float* values) {
    const Block block = block_of(type, values);
    put<uint16_t>(block.scale.bits);
    if (type == Q8_0) {
      for (const int code : block.codes) put<int8_t>(static_cast<int8_t>(code));
      return;
    }
    uint32_t high = 0;
    std::vector<uint8_t> low(16);
    for (int i = 0; i < 32; ++i) {
      const auto bits = static_cast<uint32_t>(block.codes[i] + 16);
      high |= (bits >> 4) << i;
      low[static_cast<size_t>(i % 16)] |= static_cast<uint8_t>((bits & 15) << (i < 16 ? 0 : 4));
    }
    put(high);
    put_all(low);
  }

  Checkpoint checkpoint_;
  Json config_;
  Type type_;
  std::string bytes_;
};

}  // namespace pippin::models
