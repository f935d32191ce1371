// Projectors of towers whose layers have names of their own: DeepSeek-OCR 2's and Llama 4's.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "pippin/models/gguf/gguf_projector.h"

namespace pippin::models {
namespace {

using Kind = ProjectorName::Kind;

constexpr ProjectorName kSam[] = {
    {"v.sam.patch_embd", ".sam_model.patch_embed.proj"},
    {"v.sam.pos_embd", ".sam_model.pos_embed", Kind::Whole},
    {"v.sam.blk.*.pre_ln", ".sam_model.blocks.*.norm1"},
    {"v.sam.blk.*.post_ln", ".sam_model.blocks.*.norm2"},
    {"v.sam.blk.*.attn.pos_h", ".sam_model.blocks.*.attn.rel_pos_h", Kind::Whole},
    {"v.sam.blk.*.attn.pos_w", ".sam_model.blocks.*.attn.rel_pos_w", Kind::Whole},
    {"v.sam.blk.*.attn.qkv", ".sam_model.blocks.*.attn.qkv"},
    {"v.sam.blk.*.attn.out", ".sam_model.blocks.*.attn.proj"},
    {"v.sam.blk.*.mlp.lin1", ".sam_model.blocks.*.mlp.lin1"},
    {"v.sam.blk.*.mlp.lin2", ".sam_model.blocks.*.mlp.lin2"},
    {"v.sam.neck", ".sam_model.neck"},
    {"v.sam.net_2", ".sam_model.net_2"},
    {"v.sam.net_3", ".sam_model.net_3"},
};
constexpr ProjectorName kDeepseekOcr2[] = {
    {"v.blk.*.ln1", ".qwen2_model.model.model.layers.*.input_layernorm"},
    {"v.blk.*.ln2", ".qwen2_model.model.model.layers.*.post_attention_layernorm"},
    {"v.blk.*.attn_q", ".qwen2_model.model.model.layers.*.self_attn.q_proj"},
    {"v.blk.*.attn_k", ".qwen2_model.model.model.layers.*.self_attn.k_proj"},
    {"v.blk.*.attn_v", ".qwen2_model.model.model.layers.*.self_attn.v_proj"},
    {"v.blk.*.attn_out", ".qwen2_model.model.model.layers.*.self_attn.o_proj"},
    {"v.blk.*.ffn_gate", ".qwen2_model.model.model.layers.*.mlp.gate_proj"},
    {"v.blk.*.ffn_up", ".qwen2_model.model.model.layers.*.mlp.up_proj"},
    {"v.blk.*.ffn_down", ".qwen2_model.model.model.layers.*.mlp.down_proj"},
    {"v.post_ln", ".qwen2_model.model.model.norm"},
    {"v.resample_query_768", ".qwen2_model.query_768"},
    {"v.resample_query_1024", ".qwen2_model.query_1024"},
    {"mm.model.fc", ".projector.layers"},
    {"v.view_seperator", ".view_seperator", Kind::Whole},
};
constexpr ProjectorName kLlama4[] = {
    {"v.patch_embd", ".patch_embedding.linear"},
    {"v.position_embd", ".positional_embedding_vlm", Kind::Whole},
    {"v.class_embd", ".class_embedding", Kind::Whole},
    {"v.pre_ln", ".layernorm_pre"},
    {"v.post_ln", ".layernorm_post"},
    {"v.blk.*.ln1", ".model.layers.*.input_layernorm"},
    {"v.blk.*.ln2", ".model.layers.*.post_attention_layernorm"},
    {"v.blk.*.attn_q", ".model.layers.*.self_attn.q_proj"},
    {"v.blk.*.attn_k", ".model.layers.*.self_attn.k_proj"},
    {"v.blk.*.attn_v", ".model.layers.*.self_attn.v_proj"},
    {"v.blk.*.attn_out", ".model.layers.*.self_attn.o_proj"},
    {"v.blk.*.ffn_up", ".model.layers.*.mlp.fc1"},
    {"v.blk.*.ffn_down", ".model.layers.*.mlp.fc2"},
    {"mm.model.mlp.1", ".vision_adapter.mlp.fc1"},
    {"mm.model.mlp.2", ".vision_adapter.mlp.fc2"},
    {"mm.model.fc", "multi_modal_projector.linear_1"},
};

// Segment Anything's encoder. Layers with windows have the distances of a window.
std::string sam_config(const ProjectorFiles& files) {
  JsonMembers sam;
  const std::vector<int64_t>& patches = files.sizes("v.sam.patch_embd.weight", 4);
  const GgufTensor* const table = files.keys.metadata().tensor("v.sam.pos_embd.weight");
  if (table == nullptr || table->shape.size() < 3) {
    files.keys.metadata().invalid("v.sam.pos_embd.weight", "no table of rows and columns");
  }
  const int64_t count = files.side("sam.block_count"), window = files.side("window_size");
  sam.set("hidden_size", files.side("sam.embedding_length"));
  sam.set("num_hidden_layers", count);
  sam.set("num_attention_heads", files.side("sam.head_count"));
  sam.set("patch_size", patches[3]);
  sam.set("image_size", table->shape[table->shape.size() - 2] * patches[3]);
  sam.set("mlp_dim", files.rows("v.sam.blk.0.mlp.lin1.weight"));
  sam.set("output_channels", files.rows("v.sam.neck.0.weight"));
  sam.set("downsample_channels",
          std::vector<int64_t>{files.rows("v.sam.net_2.weight"), files.rows("v.sam.net_3.weight")});
  sam.set("window_size", window);
  std::vector<int64_t> all;
  for (int64_t layer = 0; layer < count; ++layer) {
    const std::string distances = fmt::format("v.sam.blk.{}.attn.pos_h.weight", layer);
    if (files.rows(distances) != 2 * window - 1) all.push_back(layer);
  }
  sam.set("global_attn_indexes", all);
  return sam.text();
}

void write_deepseek_ocr2(ProjectorFiles& files) {
  JsonMembers encoder;
  encoder.set("hidden_size", files.side("embedding_length"));
  encoder.set("intermediate_size", files.rows("v.blk.0.ffn_up.weight"));
  encoder.set("num_hidden_layers", files.side("block_count"));
  encoder.set("num_attention_heads", files.side("attention.head_count"));
  encoder.set("num_key_value_heads", files.side("attention.head_count_kv"));
  encoder.set("rms_norm_eps", files.keys.required_number("attention.layer_norm_epsilon"));
  encoder.set("rope_theta", 1e6);  // llama.cpp's constant, and that of the published model
  files.vision.set_json("sam_config", sam_config(files));
  files.vision.set_json("encoder_config", encoder.text());
  files.processor.set("patch_size", files.sizes("v.sam.patch_embd.weight", 4)[3]);
  files.write_square();
  // llama.cpp's constants.
  files.image.set("tile_size", 768);
  files.image.set("min_patches", files.side("preproc_min_tiles", 2));
  files.image.set("max_patches", files.side("preproc_max_tiles", 6));
}

void write_llama4(ProjectorFiles& files) {
  files.write_tower("gelu");
  const int64_t outputs = files.rows("mm.model.mlp.2.weight");
  files.vision.set("pixel_shuffle_ratio",
                   1.0 / static_cast<double>(files.side("projector.scale_factor", 2)));
  files.vision.set("projector_input_dim", files.rows("mm.model.mlp.1.weight"));
  files.vision.set("projector_output_dim", outputs);
  files.vision.set("vision_output_dim", outputs);
  files.processor.set("patch_size", files.side("patch_size"));
  files.write_square();
}

}  // namespace

std::vector<GgufProjector> gguf_other_projectors() {
  return {
      {.name = "deepseekocr2",
       .model_type = "deepseek_ocr2",
       .class_name = "DeepseekOcr2ForConditionalGeneration",
       .processor = "DeepseekOcr2Processor",
       .image_processor = "DeepseekOcr2ImageProcessor",
       .row_token = "<image>",
       .languages = {"deepseek2-ocr"},
       .last = "mm.model.fc",
       .write = write_deepseek_ocr2,
       .tower = "model",
       .names = {kSam, kDeepseekOcr2}},
      {.name = "llama4",
       .model_type = "llama4",
       .class_name = "Llama4ForConditionalGeneration",
       .processor = "Llama4Processor",
       .image_processor = "Llama4ImageProcessor",
       .row_token = "<|patch|>",
       .languages = {"llama4"},
       .last = "mm.model.fc",
       .write = write_llama4,
       .tower = "vision_model",
       .names = {kLlama4}},
  };
}

}  // namespace pippin::models
