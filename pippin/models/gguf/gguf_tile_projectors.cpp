// Projectors of towers that compute tiles of one size, and of towers with SigLIP's names.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "pippin/models/config/common.h"
#include "pippin/models/gguf/gguf_projector.h"

namespace pippin::models {
namespace {

using Kind = ProjectorName::Kind;

constexpr ProjectorName kSiglipLayers[] = {
    {"v.blk.*.ln1", ".encoder.layers.*.layer_norm1"},
    {"v.blk.*.ln2", ".encoder.layers.*.layer_norm2"},
    {"v.blk.*.attn_q", ".encoder.layers.*.self_attn.q_proj"},
    {"v.blk.*.attn_k", ".encoder.layers.*.self_attn.k_proj"},
    {"v.blk.*.attn_v", ".encoder.layers.*.self_attn.v_proj"},
    {"v.blk.*.attn_out", ".encoder.layers.*.self_attn.out_proj"},
    {"v.blk.*.ffn_up", ".encoder.layers.*.mlp.fc1"},
    {"v.blk.*.ffn_down", ".encoder.layers.*.mlp.fc2"},
};
constexpr ProjectorName kSiglip[] = {
    {"v.patch_embd", ".embeddings.patch_embedding"},
    {"v.position_embd", ".embeddings.position_embedding"},
    {"v.class_embd", ".embeddings.class_embedding", Kind::Whole},
    {"v.pre_ln", ".pre_layrnorm"},
    {"v.post_ln", ".post_layernorm"},
};
constexpr ProjectorName kIdefics3[] = {{"mm.model.fc", "connector.modality_projection.proj"}};
constexpr ProjectorName kLlava[] = {
    {"mm.0", "multi_modal_projector.linear_1"},
    {"mm.2", "multi_modal_projector.linear_2"},
    {"v.image_newline", "image_newline", Kind::Whole},
    {"model.image_newline", "image_newline", Kind::Whole},
};
constexpr ProjectorName kGemma3[] = {
    {"mm.input_projection", "multi_modal_projector.mm_input_projection_weight", Kind::Whole},
    {"mm.soft_emb_norm", "multi_modal_projector.mm_soft_emb_norm"},
};
constexpr ProjectorName kLfm2[] = {
    {"mm.input_norm", "multi_modal_projector.layer_norm"},
    {"mm.1", "multi_modal_projector.linear_1"},
    {"mm.2", "multi_modal_projector.linear_2"},
};
constexpr ProjectorName kPaddleOcr[] = {
    {"mm.input_norm", "mlp_AR.pre_norm"},
    {"mm.1", "mlp_AR.linear_1"},
    {"mm.2", "mlp_AR.linear_2"},
};
constexpr ProjectorName kMiniCpm[] = {
    {"v.vit_merger.ln1", ".vit_merger.layer_norm1"},
    {"v.vit_merger.attn_q", ".vit_merger.self_attn.q_proj"},
    {"v.vit_merger.attn_k", ".vit_merger.self_attn.k_proj"},
    {"v.vit_merger.attn_v", ".vit_merger.self_attn.v_proj"},
    {"v.vit_merger.attn_out", ".vit_merger.self_attn.out_proj"},
    {"v.vit_merger.ds_ln", ".vit_merger.pre_norm"},
    {"v.vit_merger.ds_ffn_up", ".vit_merger.linear_1"},
    {"v.vit_merger.ds_ffn_down", ".vit_merger.linear_2"},
    {"mm.input_norm", "merger.mlp.0.pre_norm"},
    {"mm.up", "merger.mlp.0.linear_1"},
    {"mm.down", "merger.mlp.0.linear_2"},
};
constexpr ProjectorName kInternVl[] = {
    {"v.patch_embd", ".embeddings.patch_embeddings.projection"},
    {"v.position_embd", ".embeddings.position_embeddings", Kind::Whole},
    {"v.class_embd", ".embeddings.cls_token", Kind::Whole},
    {"v.post_ln", ".layernorm"},
    {"v.blk.*.ln1", ".encoder.layer.*.layernorm_before"},
    {"v.blk.*.ln2", ".encoder.layer.*.layernorm_after"},
    {"v.blk.*.ls1", ".encoder.layer.*.lambda_1", Kind::Whole},
    {"v.blk.*.ls2", ".encoder.layer.*.lambda_2", Kind::Whole},
    {"v.blk.*.attn_q", ".encoder.layer.*.attention.q_proj"},
    {"v.blk.*.attn_k", ".encoder.layer.*.attention.k_proj"},
    {"v.blk.*.attn_v", ".encoder.layer.*.attention.v_proj"},
    {"v.blk.*.attn_q_norm", ".encoder.layer.*.attention.q_norm"},
    {"v.blk.*.attn_k_norm", ".encoder.layer.*.attention.k_norm"},
    {"v.blk.*.attn_out", ".encoder.layer.*.attention.projection_layer"},
    {"v.blk.*.ffn_up", ".encoder.layer.*.mlp.fc1"},
    {"v.blk.*.ffn_down", ".encoder.layer.*.mlp.fc2"},
    {"mm.model.mlp.0", "multi_modal_projector.layer_norm"},
    {"mm.model.mlp.1", "multi_modal_projector.linear_1"},
    {"mm.model.mlp.3", "multi_modal_projector.linear_2"},
};
// Rows that a tile of so many patches per side becomes; `factor` of them are joined.
int64_t joined_rows(int64_t patches, int64_t factor) {
  return patches / factor * (patches / factor);
}

void write_idefics3(ProjectorFiles& files) {
  const int64_t patches = files.write_tower("gelu_pytorch_tanh");
  const int64_t factor = files.side("projector.scale_factor"), tile = files.side("image_size");
  files.config.set("scale_factor", factor);
  files.processor.set("image_seq_len", joined_rows(patches, factor));
  const auto edge = [&](std::string_view member, int64_t pixels) {
    files.image.set_json(member, fmt::format(R"({{"longest_edge": {}}})", pixels));
  };
  constexpr int64_t kUsualTiles = 4;
  edge("max_image_size", tile);
  edge("size", files.side("preproc_image_size", kUsualTiles * tile));
}

// LLaVA 1.6: tiles of one of several resolutions, pairs of numbers.
void write_resolutions(ProjectorFiles& files) {
  constexpr std::string_view kKey = "image_grid_pinpoints";
  const GgufMetadata& metadata = files.keys.metadata();
  const std::vector<double> sides = metadata.numbers(files.keys.full(kKey));
  if (sides.empty() || (!files.has("v.image_newline") && !files.has("model.image_newline"))) {
    return;
  }
  std::vector<std::vector<int64_t>> sizes;
  for (size_t i = 0; i + 1 < sides.size(); i += 2) {
    sizes.push_back(
        {metadata.checked_size(kKey, sides[i + 1]), metadata.checked_size(kKey, sides[i])});
  }
  files.config.set("image_grid_pinpoints", sizes);
  files.image.set("image_grid_pinpoints", sizes);
  files.config.set("model_type", "llava_next");
  files.config.set("architectures", std::vector<std::string>{"LlavaNextForConditionalGeneration"});
  files.processor.set("processor_class", "LlavaNextProcessor");
  files.image.set("image_processor_type", "LlavaNextImageProcessor");
}

void write_llava(ProjectorFiles& files) {
  const bool is_clip = files.has("v.class_embd");
  const bool is_gelu = files.keys.metadata().flag("clip.use_gelu").value_or(false);
  const char* const gelu = is_clip ? "gelu" : "gelu_pytorch_tanh";
  files.write_tower(is_gelu ? gelu : "quick_gelu");
  const int64_t side = files.side("image_size");
  const char* const strategy = is_clip ? "default" : "full";
  files.vision.set("model_type", is_clip ? "clip_vision_model" : "siglip_vision_model");
  files.config.set("vision_feature_select_strategy", strategy);
  // The converter leaves out later layers.
  constexpr std::string_view kLayers = "feature_layer";
  const auto layers = files.keys.metadata().numbers(files.keys.full(kLayers));
  if (layers.size() > 1) files.keys.unsupported(kLayers, "several layers are not supported");
  files.config.set("vision_feature_layer",
                   layers.empty() ? -1 : files.keys.metadata().checked_size(kLayers, layers[0]));
  files.processor.set("patch_size", files.side("patch_size"));
  files.processor.set("vision_feature_select_strategy", strategy);
  files.processor.set("num_additional_image_tokens", is_clip ? 1 : 0);
  files.image.set("image_processor_type", is_clip ? "CLIPImageProcessor" : "SiglipImageProcessor");
  files.write_square();
  if (is_clip) {
    files.image.set_json("size", fmt::format(R"({{"shortest_edge": {}}})", side));
    files.image.set_json("crop_size", fmt::format(R"({{"height": {0}, "width": {0}}})", side));
  }
  write_resolutions(files);
}

void write_gemma3(ProjectorFiles& files) {
  const int64_t patches = files.write_tower("gelu_pytorch_tanh");
  const int64_t rows = joined_rows(patches, files.side("projector.scale_factor", 4));
  files.vision.set("model_type", "siglip_vision_model");
  files.config.set("mm_tokens_per_image", rows);
  files.config.set(kPlainNorms, true);
  files.processor.set("image_seq_length", rows);
  files.write_square();
}

void write_lfm2(ProjectorFiles& files) {
  files.write_tower("gelu_pytorch_tanh");
  const int64_t factor = files.side("projector.scale_factor", 2);
  files.vision.set("num_patches", files.rows("v.position_embd.weight"));
  files.config.set("downsample_factor", factor);
  files.config.set("projector_hidden_size", files.rows("mm.1.weight"));
  files.config.set("projector_bias", files.has("mm.1.bias"));
  files.config.set("projector_use_layernorm", files.has("mm.input_norm.weight"));
  files.image.set("encoder_patch_size", files.side("patch_size"));
  files.image.set("downsample_factor", factor);
}

void write_minicpm(ProjectorFiles& files) {
  files.write_tower("gelu_pytorch_tanh");
  files.write_side_of_positions();  // image_size is that of a slice
  const char* const mode = files.side("projector.scale_factor", 4) == 2 ? "4x" : "16x";
  const GgufMetadata& metadata = files.keys.metadata();
  const auto layers = metadata.numbers(files.keys.full("wa_layer_indexes"));
  if (!layers.empty()) {
    files.config.set("insert_layer_id", metadata.checked_size("wa_layer_indexes", layers[0]));
  }
  files.config.set("downsample_mode", mode);
  files.image.set("downsample_mode", mode);
  files.image.set("patch_size", files.side("patch_size"));
  files.image.set("scale_resolution", files.side("image_size"));
  if (files.keys.has_key("max_slice_nums")) {
    files.image.set("max_slice_nums", files.side("max_slice_nums"));
  }
}

void write_paddleocr(ProjectorFiles& files) {
  files.write_tower("gelu_pytorch_tanh");
  files.write_side_of_positions();  // image_size follows from the most pixels
  const int64_t merge = files.side("spatial_merge_size", 2);
  files.vision.set("spatial_merge_size", merge);
  files.image.set("patch_size", files.side("patch_size"));
  files.image.set("merge_size", merge);
  files.image.set("temporal_patch_size", 1);
  files.image.set("min_pixels", files.keys.required_size("image_min_pixels"));
  files.image.set("max_pixels", files.keys.required_size("image_max_pixels"));
}

void write_internvl(ProjectorFiles& files) {
  const int64_t patches = files.write_tower(files.activation("gelu"));
  const int64_t factor = files.side("projector.scale_factor", 2);
  files.vision.set("norm_type", files.has("v.blk.0.ln1.bias") ? "layer_norm" : "rms_norm");
  files.vision.set("attention_bias", files.has("v.blk.0.attn_q.bias"));
  files.vision.set("use_qk_norm", files.has("v.blk.0.attn_q_norm.weight"));
  files.vision.set("use_mean_pooling", !files.has("v.post_ln.weight"));
  files.config.set("downsample_ratio", 1.0 / static_cast<double>(factor));
  files.processor.set("image_seq_length", joined_rows(patches, factor));
  files.write_square();
  files.image.set("min_patches", files.side("preproc_min_tiles", 1));
  files.image.set("max_patches", files.side("preproc_max_tiles", 12));
}

}  // namespace

std::vector<GgufProjector> gguf_tile_projectors() {
  return {
      {.name = "mlp",
       .model_type = "llava",
       .class_name = "LlavaForConditionalGeneration",
       .processor = "LlavaProcessor",
       .image_processor = "CLIPImageProcessor",
       .row_token = "<image>",
       .last = "mm.2",
       .write = write_llava,
       .tower = "vision_tower",
       .names = {kSiglip, kSiglipLayers, kLlava},
       .may_be_swapped = true},
      {.name = "idefics3",
       .model_type = "idefics3",
       .class_name = "Idefics3ForConditionalGeneration",
       .processor = "Idefics3Processor",
       .image_processor = "Idefics3ImageProcessor",
       .row_token = "<image>",
       .last = "mm.model.fc",
       .write = write_idefics3,
       .tower = "vision_model",
       .names = {kSiglip, kSiglipLayers, kIdefics3},
       .may_be_swapped = true},
      {.name = "gemma3",
       .model_type = "gemma3",
       .class_name = "Gemma3ForConditionalGeneration",
       .processor = "Gemma3Processor",
       .image_processor = "Gemma3ImageProcessor",
       .row_token = "<image_soft_token>",
       .languages = {"gemma3"},
       .last = "mm.input_projection",
       .write = write_gemma3,
       .tower = "vision_tower",
       .names = {kSiglip, kSiglipLayers, kGemma3},
       .may_be_swapped = true},
      {.name = "internvl",
       .model_type = "internvl",
       .class_name = "InternVLForConditionalGeneration",
       .processor = "InternVLProcessor",
       .image_processor = "GotOcr2ImageProcessor",
       .row_token = "<IMG_CONTEXT>",
       .last = "mm.model.mlp.3",
       .write = write_internvl,
       .tower = "vision_tower",
       .names = {kInternVl}},
      {.name = "lfm2",
       .model_type = "lfm2_vl",
       .class_name = "Lfm2VlForConditionalGeneration",
       .processor = "Lfm2VlProcessor",
       .image_processor = "Lfm2VlImageProcessor",
       .row_token = "<image>",
       .languages = {"lfm2", "lfm2moe"},
       .last = "mm.2",
       .write = write_lfm2,
       .tower = "vision_tower",
       .names = {kSiglip, kSiglipLayers, kLfm2},
       .patches = PatchLayout::ChannelsLast},
      {.name = "paddleocr",
       .model_type = "paddleocr_vl",
       .class_name = "PaddleOCRVLForConditionalGeneration",
       .processor = "PaddleOCRVLProcessor",
       .image_processor = "PaddleOCRVLImageProcessor",
       .row_token = "<|IMAGE_PLACEHOLDER|>",
       .languages = {"paddleocr"},
       .last = "mm.2",
       .write = write_paddleocr,
       .tower = "visual.vision_model",
       .names = {kSiglip, kSiglipLayers, kPaddleOcr}},
      {.name = "minicpmv4_6",
       .model_type = "minicpmv4_6",
       .class_name = "MiniCPMV4_6ForConditionalGeneration",
       .processor = "MiniCPMV4_6Processor",
       .image_processor = "MiniCPMV4_6ImageProcessor",
       .row_token = "<|image_pad|>",
       .languages = {"qwen35", "qwen35moe"},
       .last = "mm.down",
       .write = write_minicpm,
       .tower = "vision_tower",
       .names = {kSiglip, kSiglipLayers, kMiniCpm}},
  };
}

}  // namespace pippin::models
