// For tests: folders of small models with random weights that embed or classify images, with a
// tokenizer of words.
#pragma once

#include <filesystem>
#include <string>

#include "pippin/base/files/output.h"
#include "pippin/models/encoders/encoder_model.h"
#include "pippin/models/models_testing.h"
#include "pippin/models/vision/vision_model.h"
#include "tests/word_tokenizer.h"

namespace pippin::testing_models {

inline constexpr const char* kSmallProcessor = R"({
  "image_processor_type": "CLIPImageProcessor", "do_resize": true, "size": {"shortest_edge": 8},
  "resample": 3, "do_center_crop": true, "crop_size": {"height": 8, "width": 8},
  "do_rescale": true, "rescale_factor": 0.00392156862745098, "do_normalize": true,
  "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]})";

// Texts and images have vectors of 6 numbers. Words are w0 to w19; w19 ends texts.
inline void write_random_clip(const std::filesystem::path& folder) {
  models::write_random_model(
      folder, R"({"model_type": "clip", "architectures": ["CLIPModel"], "projection_dim": 6,
        "text_config": {"hidden_size": 8, "intermediate_size": 12, "num_attention_heads": 2,
          "num_hidden_layers": 2, "vocab_size": 20, "max_position_embeddings": 12,
          "eos_token_id": 19},
        "vision_config": {"hidden_size": 8, "intermediate_size": 12, "num_attention_heads": 2,
          "num_hidden_layers": 2, "image_size": 8, "patch_size": 4}})",
      [](const auto& path) {
        models::build_encoder(path);
        models::VisionModel(path).build({{1, 3, 8, 8}, {}});
      });
  write_file(folder / "preprocessor_config.json", kSmallProcessor);
  write_word_tokenizer(folder, 20);
}

// SigLIP 2 for images of any size, at most 12 patches of 4 x 4 pixels. Words as in
// write_random_clip(); w1 fills texts.
inline void write_random_siglip2(const std::filesystem::path& folder) {
  models::write_random_model(folder, R"({"model_type": "siglip2", "architectures": ["Siglip2Model"],
        "text_config": {"hidden_size": 6, "intermediate_size": 12, "num_attention_heads": 2,
          "num_hidden_layers": 2, "vocab_size": 20, "max_position_embeddings": 12,
          "projection_size": 6},
        "vision_config": {"hidden_size": 6, "intermediate_size": 12, "num_attention_heads": 2,
          "num_hidden_layers": 2, "num_patches": 9, "patch_size": 4}})",
                             [](const auto& path) {
                               models::build_encoder(path);
                               models::VisionModel(path).build({{12, 48}, {1, 3, 4}});
                             });
  write_file(folder / "preprocessor_config.json", R"({"image_processor_type":
      "Siglip2ImageProcessor", "patch_size": 4, "max_num_patches": 12, "resample": 2})");
  write_word_tokenizer(folder, 20);
  write_file(folder / "tokenizer_config.json", R"({"pad_token": "w1"})");
}

// A classifier with the labels "cat", "dog" and "LABEL_2", or the bare model.
inline void write_random_vit(const std::filesystem::path& folder, bool classifies) {
  const std::string head = classifies ? R"("architectures": ["ViTForImageClassification"],
      "id2label": {"0": "cat", "1": "dog", "2": "LABEL_2"},)"
                                      : R"("architectures": ["ViTModel"],)";
  models::write_random_model(folder, R"({"model_type": "vit", )" + head + R"(
        "hidden_size": 8, "intermediate_size": 12, "num_attention_heads": 2,
        "num_hidden_layers": 2, "image_size": 8, "patch_size": 4})",
                             [](const auto& path) {
                               models::VisionModel(path).build({{1, 3, 8, 8}, {}});
                             });
  write_file(folder / "preprocessor_config.json", kSmallProcessor);
}

}  // namespace pippin::testing_models
