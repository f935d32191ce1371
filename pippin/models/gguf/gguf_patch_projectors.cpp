// Projectors of towers that take images of any size as patches.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "pippin/models/config/common.h"
#include "pippin/models/gguf/gguf_projector.h"

namespace pippin::models {
namespace {

using Kind = ProjectorName::Kind;

constexpr ProjectorName kPixtral[] = {
    {"v.patch_embd", ".patch_conv"},
    {"v.pre_ln", ".ln_pre"},
    {"v.blk.*.ln1", ".transformer.layers.*.attention_norm"},
    {"v.blk.*.ln2", ".transformer.layers.*.ffn_norm"},
    {"v.blk.*.attn_q", ".transformer.layers.*.attention.q_proj"},
    {"v.blk.*.attn_k", ".transformer.layers.*.attention.k_proj"},
    {"v.blk.*.attn_v", ".transformer.layers.*.attention.v_proj"},
    {"v.blk.*.attn_out", ".transformer.layers.*.attention.o_proj"},
    {"v.blk.*.ffn_gate", ".transformer.layers.*.feed_forward.gate_proj"},
    {"v.blk.*.ffn_up", ".transformer.layers.*.feed_forward.up_proj"},
    {"v.blk.*.ffn_down", ".transformer.layers.*.feed_forward.down_proj"},
    {"mm.input_norm", "multi_modal_projector.norm"},
    {"mm.patch_merger", "multi_modal_projector.patch_merger.merging_layer"},
    {"mm.1", "multi_modal_projector.linear_1"},
    {"mm.2", "multi_modal_projector.linear_2"},
};
constexpr ProjectorName kQwen[] = {
    {"v.patch_embd", ".patch_embed.proj"},       {"v.blk.*.ln1", ".blocks.*.norm1"},
    {"v.blk.*.ln2", ".blocks.*.norm2"},          {"v.blk.*.attn_qkv", ".blocks.*.attn.qkv"},
    {"v.blk.*.attn_q", ".blocks.*.attn.q_proj"}, {"v.blk.*.attn_k", ".blocks.*.attn.k_proj"},
    {"v.blk.*.attn_v", ".blocks.*.attn.v_proj"}, {"v.blk.*.attn_out", ".blocks.*.attn.proj"},
};
constexpr ProjectorName kQwen2Merger[] = {
    {"v.post_ln", ".merger.ln_q"},
    {"mm.0", ".merger.mlp.0"},
    {"mm.2", ".merger.mlp.2"},
};
constexpr ProjectorName kQwen2[] = {
    {"v.blk.*.ffn_up", ".blocks.*.mlp.fc1"},
    {"v.blk.*.ffn_down", ".blocks.*.mlp.fc2"},
};
constexpr ProjectorName kGated[] = {
    {"v.blk.*.ffn_gate", ".blocks.*.mlp.gate_proj"},
    {"v.blk.*.ffn_up", ".blocks.*.mlp.up_proj"},
    {"v.blk.*.ffn_down", ".blocks.*.mlp.down_proj"},
};
constexpr ProjectorName kQwen3[] = {
    {"v.position_embd", ".pos_embed"},
    {"v.post_ln", ".merger.norm"},
    {"v.blk.*.ffn_up", ".blocks.*.mlp.linear_fc1"},
    {"v.blk.*.ffn_down", ".blocks.*.mlp.linear_fc2"},
    {"mm.0", ".merger.linear_fc1"},
    {"mm.2", ".merger.linear_fc2"},
    {"v.deepstack.*.norm", ".deepstack_merger_list.*.norm"},
    {"v.deepstack.*.fc1", ".deepstack_merger_list.*.linear_fc1"},
    {"v.deepstack.*.fc2", ".deepstack_merger_list.*.linear_fc2"},
};
constexpr ProjectorName kGlm4v[] = {
    {"v.norm_embd", ".post_conv_layernorm"}, {"v.position_embd", ".embeddings.position_embedding"},
    {"v.post_ln", ".post_layernorm"},        {"mm.patch_merger", ".downsample"},
    {"mm.model.fc", ".merger.proj"},         {"mm.post_norm", ".merger.post_projection_norm"},
    {"mm.gate", ".merger.gate_proj"},        {"mm.up", ".merger.up_proj"},
    {"mm.down", ".merger.down_proj"},
};
constexpr ProjectorName kGemma4[] = {
    {"v.patch_embd", ".patch_embedder.input_proj"},
    {"v.position_embd", ".patch_embedder.position_embedding_table", Kind::Whole},
    {"v.std_bias", ".std_bias", Kind::Whole},
    {"v.std_scale", ".std_scale", Kind::Whole},
    {"v.blk.*.ln1", ".encoder.layers.*.input_layernorm"},
    {"v.blk.*.ln2", ".encoder.layers.*.pre_feedforward_layernorm"},
    {"v.blk.*.attn_post_norm", ".encoder.layers.*.post_attention_layernorm"},
    {"v.blk.*.ffn_post_norm", ".encoder.layers.*.post_feedforward_layernorm"},
    {"v.blk.*.attn_q_norm", ".encoder.layers.*.self_attn.q_norm"},
    {"v.blk.*.attn_k_norm", ".encoder.layers.*.self_attn.k_norm"},
    {"v.blk.*.attn_q", ".encoder.layers.*.self_attn.q_proj", Kind::Linear},
    {"v.blk.*.attn_k", ".encoder.layers.*.self_attn.k_proj", Kind::Linear},
    {"v.blk.*.attn_v", ".encoder.layers.*.self_attn.v_proj", Kind::Linear},
    {"v.blk.*.attn_out", ".encoder.layers.*.self_attn.o_proj", Kind::Linear},
    {"v.blk.*.ffn_gate", ".encoder.layers.*.mlp.gate_proj", Kind::Linear},
    {"v.blk.*.ffn_up", ".encoder.layers.*.mlp.up_proj", Kind::Linear},
    {"v.blk.*.ffn_down", ".encoder.layers.*.mlp.down_proj", Kind::Linear},
    {"mm.input_projection", "embed_vision.embedding_projection"},
};

void write_pixtral(ProjectorFiles& files) {
  files.write_tower(files.activation("gelu"));
  const int64_t patch = files.side("patch_size"), factor = files.side("spatial_merge_size", 1);
  files.vision.set("model_type", "pixtral");
  files.config.set("vision_feature_layer", -1);
  files.config.set("multimodal_projector_bias", files.has("mm.1.bias"));
  if (files.has("mm.patch_merger.weight")) {
    files.config.set("spatial_merge_size", factor);
  } else {
    files.config.set("model_type", "llava");
    files.config.set("architectures", std::vector<std::string>{"LlavaForConditionalGeneration"});
    files.config.set("vision_feature_select_strategy", "full");
  }
  files.processor.set("patch_size", patch);
  files.processor.set("spatial_merge_size", factor);
  files.write_square();
  files.image.set_json("size", fmt::format(R"({{"longest_edge": {}}})", files.side("image_size")));
  files.image.set_json("patch_size", fmt::format(R"({{"height": {0}, "width": {0}}})", patch));
}

// The members of Qwen's towers and those after them. Files lack the limits of an image, which are
// llama.cpp's here: 8 to 4096 rows; `frames` copies of a pixel count.
void write_patches(ProjectorFiles& files, int64_t frames = 1) {
  const int64_t patch = files.side("patch_size"), merge = files.side("spatial_merge_size", 2);
  files.vision.set("depth", files.side("block_count"));
  files.vision.set("num_heads", files.side("attention.head_count"));
  files.vision.set("hidden_size", files.side("embedding_length"));
  files.vision.set("patch_size", patch);
  files.vision.set("spatial_merge_size", merge);
  files.vision.set("temporal_patch_size", 2);
  files.vision.set("out_hidden_size", files.text_width);
  files.vision.set(kSeparateQkv, !files.has("v.blk.0.attn_qkv.weight"));
  files.image.set("patch_size", patch);
  files.image.set("merge_size", merge);
  files.image.set("temporal_patch_size", 2);
  constexpr int64_t kLeast = 8, kMost = 4096;
  const int64_t row = patch * merge * patch * merge * frames;
  const auto limit = [&](const char* key, int64_t rows) {
    const int64_t pixels = files.keys.size(key).value_or(0) * frames;
    return std::min<int64_t>(pixels > 0 ? pixels : rows * row, INT32_MAX);
  };
  files.image.set("min_pixels", limit("image_min_pixels", kLeast));
  files.image.set("max_pixels", limit("image_max_pixels", kMost));
}

void write_qwen2(ProjectorFiles& files) {
  write_patches(files);
  const int64_t features = files.side("embedding_length");
  files.vision.set("embed_dim", features);
  files.vision.set("hidden_size", files.text_width);
  files.vision.set("hidden_act", files.activation("quick_gelu"));
  // feed_forward_length is another number in these files.
  int64_t inner = files.rows("v.blk.0.ffn_up.weight");
  if (inner == features) inner = files.rows("v.blk.0.ffn_down.weight");
  // The configuration's product is cut off to a whole number.
  files.vision.set("mlp_ratio", (static_cast<double>(inner) + 0.5) / static_cast<double>(features));
}

void write_qwen25(ProjectorFiles& files) {
  write_patches(files);
  files.vision.set("hidden_act", files.activation("silu"));
  files.vision.set("intermediate_size", files.keys.required_size("feed_forward_length"));
  files.vision.set("window_size", files.side("window_size", 112));
  const int64_t every = files.side("n_wa_pattern"), count = files.side("block_count");
  std::vector<int64_t> whole;
  for (int64_t layer = every - 1; layer < count; layer += every) whole.push_back(layer);
  files.vision.set("fullatt_block_indexes", whole);
}

void write_qwen3(ProjectorFiles& files) {
  write_patches(files);
  files.vision.set("hidden_act", "gelu_pytorch_tanh");
  files.vision.set("intermediate_size", files.keys.required_size("feed_forward_length"));
  files.vision.set("num_position_embeddings", files.rows("v.position_embd.weight"));
  std::vector<int64_t> layers;
  const auto flags = files.keys.metadata().numbers(files.keys.full("is_deepstack_layers"));
  for (size_t i = 0; i < flags.size(); ++i) {
    if (flags[i] != 0) layers.push_back(static_cast<int64_t>(i));
  }
  files.vision.set("deepstack_visual_indexes", layers);
}

void write_glm4v(ProjectorFiles& files) {
  write_patches(files, /*frames=*/2);
  files.vision.set("image_size", files.side("image_size"));
  files.vision.set("hidden_act", files.activation("silu"));
  files.vision.set("rms_norm_eps", files.keys.required_number("attention.layer_norm_epsilon"));
  files.vision.set("intermediate_size", files.rows("mm.gate.weight"));
  files.vision.set("attention_bias", files.has("v.blk.0.attn_qkv.bias"));
}

void write_gemma4(ProjectorFiles& files) {
  const int64_t head_dim = files.rows("v.blk.0.attn_q_norm.weight");
  const GgufTensor* const positions = files.keys.metadata().tensor("v.position_embd.weight");
  if (positions == nullptr || positions->shape.size() != 3 || head_dim < 1) {
    files.keys.metadata().invalid("v.position_embd.weight", "no table of columns and rows");
  }
  files.vision.set("hidden_size", files.side("embedding_length"));
  files.vision.set("intermediate_size", files.keys.required_size("feed_forward_length"));
  files.vision.set("num_hidden_layers", files.side("block_count"));
  files.vision.set("num_attention_heads", files.side("attention.head_count"));
  files.vision.set("num_key_value_heads", files.rows("v.blk.0.attn_k.weight") / head_dim);
  files.vision.set("head_dim", head_dim);
  files.vision.set("patch_size", files.side("patch_size"));
  files.vision.set("position_embedding_size", positions->shape[1]);
  files.vision.set("pooling_kernel_size", files.side("projector.scale_factor", 3));
  files.vision.set("rms_norm_eps", files.keys.required_number("attention.layer_norm_epsilon"));
  files.vision.set("standardize", files.has("v.std_bias"));
  files.vision.set("use_clipped_linears", files.has("v.blk.0.attn_q.input_min"));
  for (const char* const member : {"image_mean", "image_std"}) files.image.erase(member);
  files.image.set("patch_size", files.side("patch_size"));
  files.image.set("pooling_kernel_size", files.side("projector.scale_factor", 3));
  // Rows of an image see each other in the larger models, which have no inputs for each layer.
  const Json text = Json::parse(files.text.text(), "text_config");
  if (text.get_int_or("hidden_size_per_layer_input", 0) == 0) {
    files.text.set("use_bidirectional_attention", "vision");
  }
}

}  // namespace

std::vector<GgufProjector> gguf_patch_projectors() {
  const GgufProjector qwen25 = {.name = "qwen2.5vl_merger",
                                .model_type = "qwen2_5_vl",
                                .class_name = "Qwen2_5_VLForConditionalGeneration",
                                .processor = "Qwen2_5_VLProcessor",
                                .image_processor = "Qwen2VLImageProcessor",
                                .row_token = "<|image_pad|>",
                                .languages = {"qwen2vl"},
                                .last = "mm.2",
                                .write = write_qwen25,
                                .tower = "visual",
                                .names = {kQwen, kGated, kQwen2Merger},
                                .patches = PatchLayout::TwoFrames,
                                .may_be_swapped = true};
  // Qwen2.5-Omni, whose files also have a tower for sound.
  GgufProjector omni = qwen25;
  omni.name = "qwen2.5o";
  omni.processor = "Qwen2_5OmniProcessor";
  omni.row_token = "<|IMAGE|>";
  return {
      {.name = "gemma4v",
       .model_type = "gemma4",
       .class_name = "Gemma4ForConditionalGeneration",
       .processor = "Gemma4Processor",
       .image_processor = "Gemma4ImageProcessor",
       .row_token = "<|image|>",
       .languages = {"gemma4"},
       .last = "mm.input_projection",
       .write = write_gemma4,
       .tower = "vision_tower",
       .names = {kGemma4},
       .patches = PatchLayout::ChannelsLast},
      {.name = "pixtral",
       .model_type = "mistral3",
       .class_name = "Mistral3ForConditionalGeneration",
       .processor = "PixtralProcessor",
       .image_processor = "PixtralImageProcessor",
       .row_token = "[IMG]",
       .last = "mm.2",
       .write = write_pixtral,
       .tower = "vision_tower",
       .names = {kPixtral},
       .has_pairs = true},
      {.name = "qwen2vl_merger",
       .model_type = "qwen2_vl",
       .class_name = "Qwen2VLForConditionalGeneration",
       .processor = "Qwen2VLProcessor",
       .image_processor = "Qwen2VLImageProcessor",
       .row_token = "<|image_pad|>",
       .languages = {"qwen2vl"},
       .last = "mm.2",
       .write = write_qwen2,
       .tower = "visual",
       .names = {kQwen, kQwen2, kQwen2Merger},
       .patches = PatchLayout::TwoFrames,
       .may_be_swapped = true},
      qwen25,
      omni,
      {.name = "qwen3vl_merger",
       .model_type = "qwen3_vl",
       .class_name = "Qwen3VLForConditionalGeneration",
       .processor = "Qwen3VLProcessor",
       .image_processor = "Qwen2VLImageProcessor",
       .row_token = "<|image_pad|>",
       .languages = {"qwen3vl", "qwen3vlmoe", "qwen35", "qwen35moe"},
       .last = "mm.2",
       .write = write_qwen3,
       .tower = "visual",
       .names = {kQwen, kQwen3},
       .patches = PatchLayout::TwoFrames},
      {.name = "glm4v",
       .model_type = "glm4v",
       .class_name = "Glm4vForConditionalGeneration",
       .processor = "Glm4vProcessor",
       .image_processor = "Glm4vImageProcessor",
       .row_token = "<|image|>",
       .languages = {"glm4", "glm4moe"},
       .last = "mm.down",
       .write = write_glm4v,
       .tower = "visual",
       .names = {kQwen, kGated, kGlm4v},
       .patches = PatchLayout::TwoFrames},
  };
}

}  // namespace pippin::models
