#include "tests/gguf_projector_files.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/numbers/float16.h"
#include "pippin/io/checkpoint.h"
#include "pippin/io/gguf.h"
#include "pippin/io/json.h"
#include "pippin/models/gguf/gguf_projector.h"
#include "tests/gguf_recipes.h"

namespace pippin::testing_gguf {
namespace {

using models::GgufProjector;
using models::PatchLayout;
using models::ProjectorName;

// A tensor of F32.
struct FloatTensor {
  std::vector<int64_t> shape;
  std::vector<float> values;

  std::string bytes() const {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
  }
};

// The other tensors of the folder are the language model's.
std::string without_base(std::string name) {
  for (const char* const base : {"model.", "vision_tower.vision_model."}) {
    if (name.starts_with(base)) {
      const size_t kept = base == std::string_view("model.") ? 0 : std::strlen("vision_tower.");
      name = name.substr(0, kept) + name.substr(std::strlen(base));
    }
  }
  return name;
}

// The name in the file, if the pattern's is that of the folder.
std::optional<std::string> name_by(const GgufProjector& row, const ProjectorName& one,
                                   std::string_view name) {
  std::string pattern = one.name.starts_with('.') ? std::string(row.tower) : std::string();
  pattern += one.name;
  const size_t star = pattern.find('*');
  std::string index;
  std::string_view rest = name;
  if (!rest.starts_with(pattern.substr(0, star))) return std::nullopt;
  rest.remove_prefix(std::min(star, pattern.size()));
  if (star != pattern.npos) {
    index = rest.substr(0, rest.find('.'));
    rest.remove_prefix(index.size());
    const std::string end = pattern.substr(star + 1);
    if (!rest.starts_with(end)) return std::nullopt;
    rest.remove_prefix(end.size());
  }
  if (!rest.empty() && rest.front() != '.') return std::nullopt;
  if (one.kind == ProjectorName::Kind::Linear && rest.starts_with(".linear")) {
    rest.remove_prefix(std::strlen(".linear"));
  }
  std::string found(one.module);
  if (const size_t place = found.find('*'); place != found.npos) found.replace(place, 1, index);
  found += rest;
  // Some vectors outside of modules have no ending.
  const bool has_ending = one.kind == ProjectorName::Kind::Whole && one.module != "v.class_embd" &&
                          !one.module.ends_with("image_newline") &&
                          one.module != "v.view_seperator" && !one.module.starts_with("v.std_");
  if (has_ending) found += ".weight";
  return found;
}

std::string name_of(const GgufProjector& row, std::string_view name) {
  for (const auto& names : row.names) {
    for (const ProjectorName& one : names) {
      if (const auto found = name_by(row, one, name)) return *found;
    }
  }
  return {};
}

// Rows of heads in the order in which llama.cpp rotates them: those half a head apart are next to
// each other.
FloatTensor with_pairs(const FloatTensor& from, int64_t heads) {
  FloatTensor result = from;
  const int64_t rows = from.shape[0], size = rows / heads;
  const int64_t width = std::ssize(from.values) / rows;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t place = row % size, half = place / (size / 2), pair = place % (size / 2);
    const int64_t to = row - place + 2 * pair + half;
    std::copy_n(from.values.begin() + row * width, width, result.values.begin() + to * width);
  }
  return result;
}

// Of patches as rows of (row, column, channel), those of convolutions.
FloatTensor with_channels_first(const FloatTensor& from, int64_t side) {
  FloatTensor result{{from.shape[0], 3, side, side}, from.values};
  const int64_t pixels = side * side;
  for (int64_t i = 0; i < std::ssize(from.values); ++i) {
    const int64_t feature = i / (3 * pixels), pixel = i / 3 % pixels, channel = i % 3;
    result.values[static_cast<size_t>((feature * 3 + channel) * pixels + pixel)] =
        from.values[static_cast<size_t>(i)];
  }
  return result;
}

// One frame of convolutions over two.
FloatTensor frame_of(const FloatTensor& from, int64_t frame) {
  FloatTensor result{{from.shape[0], from.shape[1], from.shape[3], from.shape[4]}, {}};
  const int64_t plane = from.shape[3] * from.shape[4];
  for (int64_t i = frame * plane; i < std::ssize(from.values); i += 2 * plane) {
    result.values.insert(result.values.end(), from.values.begin() + i,
                         from.values.begin() + i + plane);
  }
  return result;
}

// In Q8_0: for each block a scale of fp16, and numbers of 8 bits.
constexpr int64_t kBlock = 32;
std::string quantized_bytes(const std::vector<float>& values) {
  std::string bytes;
  for (size_t i = 0; i < values.size(); i += kBlock) {
    float largest = 0;
    for (size_t j = i; j < i + kBlock; ++j) largest = std::max(largest, std::abs(values[j]));
    const auto scale = std::bit_cast<uint16_t>(to_float16(largest / 127));
    bytes += static_cast<char>(scale & 0xff);
    bytes += static_cast<char>(scale >> 8);
    for (size_t j = i; j < i + kBlock; ++j) {
      const float step = largest > 0 ? values[j] / largest * 127 : 0;
      bytes += static_cast<char>(std::lround(step));
    }
  }
  return bytes;
}

class ProjectorWriter {
 public:
  ProjectorWriter(const std::filesystem::path& folder, const GgufProjector& row,
                  const ProjectorForm& form, GgufFile& file)
      : row_(row),
        vision_(Json::load(folder / "config.json").at("vision_config")),
        form_(form),
        file_(file) {
    const Checkpoint checkpoint = Checkpoint::open(folder);
    for (const std::string& name : checkpoint.names()) {
      const std::string own = without_base(name);
      if (own.starts_with("language_model.")) continue;
      const TensorInfo& tensor = checkpoint.at(name);
      const std::string whole = name_of(row_, name);
      add(whole.empty() ? name_of(row_, own) : whole, {tensor.shape, values_of(tensor)});
    }
  }

 private:
  void add(std::string name, FloatTensor floats) {
    if (name.empty()) return;
    for (const auto& [from, to] :
         {std::pair(".ffn_up.", ".ffn_down."), {".ffn_down.", ".ffn_up."}}) {
      const size_t place = form_.swapped ? name.find(from) : name.npos;
      if (place == name.npos) continue;
      name.replace(place, std::strlen(from), to);
      break;
    }
    if (name == "v.patch_embd.weight" && row_.patches == PatchLayout::TwoFrames) {
      put(name, frame_of(floats, 0));
      return put(name + ".1", frame_of(floats, 1));
    }
    if (name == "v.patch_embd.weight" && row_.patches == PatchLayout::ChannelsLast) {
      floats = with_channels_first(floats, vision_.get_int_or("patch_size", 0));
    }
    const bool is_pair = name.find(".attn_q.") != name.npos || name.find(".attn_k.") != name.npos;
    if (row_.has_pairs && is_pair) {
      floats = with_pairs(floats, vision_.get_int_or("num_attention_heads", 0));
    }
    if (row_.model_type == "qwen2_vl" || row_.model_type == "qwen2_5_vl") {
      if (const size_t joint = name.find("attn_qkv"); joint != name.npos) {
        return add_parts(name, joint, floats);
      }
    }
    if (name.starts_with("v.deepstack.")) {
      // Mergers have the numbers of their layers.
      const auto layers = vision_.at("deepstack_visual_indexes").as_ints();
      const size_t end = name.find('.', 12);
      const auto index = static_cast<size_t>(std::stoll(name.substr(12, end - 12)));
      return put("v.deepstack." + std::to_string(layers.at(index)) + name.substr(end), floats);
    }
    if (name == "mm.soft_emb_norm.weight") {
      for (float& value : floats.values) value += 1;
    }
    if (name == "v.view_seperator") floats.shape.insert(floats.shape.begin(), 1);
    put(name, floats);
  }

  void add_parts(const std::string& name, size_t joint, const FloatTensor& floats) {
    FloatTensor part = floats;
    part.shape[0] /= 3;
    const size_t size = floats.values.size() / 3;
    for (size_t i = 0; i < 3; ++i) {
      part.values.assign(floats.values.begin() + static_cast<std::ptrdiff_t>(i * size),
                         floats.values.begin() + static_cast<std::ptrdiff_t>((i + 1) * size));
      const char* const names[] = {"attn_q", "attn_k", "attn_v"};
      std::string own = name;
      put(own.replace(joint, std::strlen("attn_qkv"), names[i]), part);
    }
  }

  // Numbers are vectors.
  void put(const std::string& name, const FloatTensor& floats) {
    if (name == form_.without) return;
    std::vector<int64_t> shape = floats.shape;
    while (!form_.whole_shapes && shape.size() > 1 && shape.front() == 1) {
      shape.erase(shape.begin());
    }
    if (shape.empty()) shape = {1};
    if (name == form_.shortened) return put_shortened(name, shape, floats);
    constexpr uint32_t kQ8 = 8;
    if (form_.quantized && shape.size() == 2 && shape[1] % kBlock == 0) {
      file_.tensor(name, shape, quantized_bytes(floats.values), kQ8);
    } else {
      file_.tensor(name, shape, floats.bytes());
    }
  }

  void put_shortened(const std::string& name, std::vector<int64_t> shape, FloatTensor floats) {
    auto axis = std::find_if(shape.begin(), shape.end(), [](int64_t size) { return size > 1; });
    if (axis == shape.end()) throw std::invalid_argument(name + " has no axis of several");
    floats.values.resize(floats.values.size() / static_cast<size_t>(*axis) *
                         static_cast<size_t>(*axis - 1));
    --*axis;
    file_.tensor(name, shape, floats.bytes());
  }

  const GgufProjector& row_;
  Json vision_;
  ProjectorForm form_;
  GgufFile& file_;
};

int64_t first_of(const Json& object, std::initializer_list<const char*> keys, int64_t fallback) {
  for (const char* const key : keys) {
    const auto found = object.find(key);
    if (!found) continue;
    return found->is_array() ? found->at(size_t{0}).as_int() : found->as_int();
  }
  return fallback;
}

}  // namespace

GgufFile projector_file(const std::filesystem::path& folder, const std::string& type,
                        const ProjectorForm& form) {
  const GgufProjector* const row = models::find_projector(type);
  GgufFile file;
  const Json parts = Json::load(folder / "config.json").at("vision_config");
  const Json vision = parts.find("encoder_config").value_or(parts);
  const Json image = Json::load(folder / "preprocessor_config.json");
  const auto number = [&](const std::string& key, std::initializer_list<const char*> names,
                          int64_t fallback) {
    file.number("clip.vision." + key, static_cast<uint32_t>(first_of(vision, names, fallback)));
  };
  file.text("general.architecture", "clip").flag("clip.has_vision_encoder", true);
  // As files with a tower for sound too have it.
  file.text(type == "gemma4v" ? "clip.vision.projector_type" : "clip.projector_type", type);
  int64_t side = first_of(vision, {"image_size"}, 16);
  if (type == "paddleocr") {
    const int64_t most = image.at("size").at("longest_edge").as_int();  // pixels
    side = static_cast<int64_t>(std::sqrt(static_cast<double>(most)));
  }
  if (type == "deepseekocr2") side = image.at("size").at("height").as_int();
  file.number("clip.vision.image_size", static_cast<uint32_t>(side));
  number("patch_size", {"patch_size"}, 0);
  number("embedding_length", {"embed_dim", "hidden_size"}, 0);
  number("feed_forward_length", {"intermediate_size"}, 0);
  number("block_count", {"num_hidden_layers", "depth"}, 0);
  number("attention.head_count", {"num_attention_heads", "num_heads"}, 0);
  const double epsilon = vision.has("layer_norm_eps") ? vision.at("layer_norm_eps").as_float()
                         : vision.has("rms_norm_eps") ? vision.at("rms_norm_eps").as_float()
                                                      : 1e-6;
  file.real("clip.vision.attention.layer_norm_epsilon", static_cast<float>(epsilon));
  const std::string activation = vision.get_string_or("hidden_act", "");
  if (activation == "silu") file.flag("clip.use_silu", true);
  if (activation == "gelu") file.flag("clip.use_gelu", true);
  for (const char* const key : {"image_mean", "image_std"}) {
    const std::vector<double> values = image.at(key).as_floats();
    file.reals(std::string("clip.vision.") + key, {values.begin(), values.end()});
  }
  ProjectorWriter(folder, *row, form, file);
  return file;
}

void write_tower_folder(const std::filesystem::path& dir, const std::string& text,
                        const GgufFile& file, const GgufFile& language) {
  const std::string bytes = file.all(), words = language.all();
  const std::string name = "mmproj.gguf", language_name = "m.gguf";
  const GgufContent tower = parse_gguf(as_byte_span(bytes), name);
  const GgufContent content = parse_gguf(as_byte_span(words), language_name);
  const auto made = models::gguf_vision_config({content, language_name}, text, {tower, name});
  write_file(dir / "config.json", made.config);
  write_file(dir / "processor_config.json", made.processor);
  write_file(dir / name, bytes);
}

std::string language_config(const Json& config, const std::string& architecture) {
  models::JsonMembers text;
  const auto nested = config.find("text_config");
  for (const auto& [member, value] : (nested ? *nested : config).members()) {
    text.set_json(member, value.dump());
  }
  text.erase("vision_config");
  text.set("gguf_architecture", architecture);
  text.set("gguf_modules", std::vector<std::string>());
  return text.text();
}

GgufFile language_file(const std::filesystem::path& folder, const std::vector<std::string>& tokens,
                       const std::string& architecture) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"self_attn.q_proj", "attn_q"},
      {"self_attn.k_proj", "attn_k"},
      {"self_attn.v_proj", "attn_v"},
      {"self_attn.o_proj", "attn_output"},
      {"mlp.gate_proj", "ffn_gate"},
      {"mlp.up_proj", "ffn_up"},
      {"mlp.down_proj", "ffn_down"},
      {"mlp.shared_experts.gate_proj", "ffn_gate_shexp"},
      {"mlp.shared_experts.up_proj", "ffn_up_shexp"},
      {"mlp.shared_experts.down_proj", "ffn_down_shexp"},
      {"mlp.gate.", "ffn_gate_inp"},
      {"input_layernorm", "attn_norm"},
      {"post_attention_layernorm", "ffn_norm"}};
  const Json text = Json::load(folder / "config.json").at("text_config");
  const int64_t heads = text.get_int_or("num_attention_heads", 0);
  const int64_t key_heads = text.get_int_or("num_key_value_heads", 0);
  GgufFile file;
  const auto number = [&](const char* key, const char* member) {
    if (!text.has(member)) return;
    file.number(architecture + "." + key, static_cast<uint32_t>(text.get_int_or(member, 0)));
  };
  file.text("general.architecture", architecture);
  number("block_count", "num_hidden_layers");
  number("context_length", "max_position_embeddings");
  number("embedding_length", "hidden_size");
  number("feed_forward_length", "intermediate_size");
  number("attention.head_count", "num_attention_heads");
  number("attention.head_count_kv", "num_key_value_heads");
  number("expert_count", "n_routed_experts");
  number("expert_used_count", "num_experts_per_tok");
  number("expert_shared_count", "n_shared_experts");
  number("expert_feed_forward_length", "moe_intermediate_size");
  number("leading_dense_block_count", "first_k_dense_replace");
  file.real(architecture + ".attention.layer_norm_rms_epsilon", 1e-6f);
  file.real(architecture + ".rope.freq_base", 10000);
  std::vector<uint32_t> types;
  types.reserve(tokens.size());
  constexpr uint32_t kNormal = 1, kControl = 3;
  for (const std::string& token : tokens) types.push_back(token[0] == '<' ? kControl : kNormal);
  file.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "gpt-2");
  file.texts("tokenizer.ggml.tokens", tokens).numbers("tokenizer.ggml.token_type", types);
  file.texts("tokenizer.ggml.merges", {"Ċ Ċ"}).number("tokenizer.ggml.eos_token_id", 0);
  const Checkpoint checkpoint = Checkpoint::open(folder);
  const std::string base = "model.", layers = base + "layers.", expert = "mlp.experts.";
  std::map<std::string, FloatTensor> stacks;
  for (const std::string& name : checkpoint.names()) {
    const TensorInfo& tensor = checkpoint.at(name);
    FloatTensor floats{tensor.shape, values_of(tensor)};
    if (name == base + "embed_tokens.weight")
      file.tensor("token_embd.weight", floats.shape, floats.bytes());
    if (name == base + "norm.weight")
      file.tensor("output_norm.weight", floats.shape, floats.bytes());
    if (name == "lm_head.weight") file.tensor("output.weight", floats.shape, floats.bytes());
    if (!name.starts_with(layers)) continue;
    const size_t end = name.find('.', layers.size());
    const std::string block = "blk." + name.substr(layers.size(), end - layers.size()) + ".";
    const std::string module = name.substr(end + 1);
    if (module.starts_with(expert)) {
      // Fewer than ten, so that names are in the order of numbers.
      const std::string part = module.substr(module.find('.', expert.size()) + 1);
      const std::string own = part.substr(0, part.find('_'));
      FloatTensor& stack = stacks[block + "ffn_" + own + "_exps.weight"];
      if (stack.shape.empty()) stack.shape = {0, floats.shape[0], floats.shape[1]};
      ++stack.shape[0];
      stack.values.insert(stack.values.end(), floats.values.begin(), floats.values.end());
      continue;
    }
    for (const auto& [part, own] : kNames) {
      if (!module.starts_with(part)) continue;
      const bool has_pairs = architecture == "llama";
      if (has_pairs && own == "attn_q") floats = with_pairs(floats, heads);
      if (has_pairs && own == "attn_k") floats = with_pairs(floats, key_heads);
      file.tensor(block + std::string(own) + ".weight", floats.shape, floats.bytes());
    }
  }
  for (const auto& [name, stack] : stacks) file.tensor(name, stack.shape, stack.bytes());
  return file;
}

}  // namespace pippin::testing_gguf
