// The place of images in a prompt: how a model's processor expands the placeholder that a chat
// template writes for an image. Independent of tokenizers.
//
//   SmolVLM: "<image>" becomes "<fake_token_around_image><row_1_col_1>", 64 rows of tile 0, ...
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pippin/image/image_inputs.h"
#include "pippin/io/json.h"

namespace pippin::image {

// Rows of an image's embeddings. The runs of an image take its rows in order.
struct RowRun {
  int64_t count = 0;
  int64_t tile = 0;  // of the tower's tiles; 0 for the rows of all tiles together

  bool operator==(const RowRun&) const = default;
};
// Text with the names of special tokens, or rows.
using ImagePiece = std::variant<std::string, RowRun>;

class ImagePrompt {
 public:
  // Reads the rule of a model's folder: the files of its processor, or else the model_type of its
  // config.json, determine it. Throws Unsupported for an unknown processor.
  static ImagePrompt open(const std::filesystem::path& folder);
  // `processor_class` is a name of transformers, `processor` its settings (the object of
  // processor_config.json, or an empty one), `image_processor` those of preprocessor_config.json.
  static ImagePrompt parse(const std::string& processor_class, const Json& processor,
                           const Json& image_processor);

  // Returns the text that stands for an image in the output of the chat template.
  const std::string& placeholder() const { return placeholder_; }
  // The same for a video; empty: the model's videos are not supported.
  const std::string& video_placeholder() const { return video_placeholder_; }
  // Returns the special token that transformers repeats for rows, whose id the model's config.json
  // has.
  const std::string& row_token() const { return row_token_; }
  // Whether tokenizers of such models may lack it: LLaVA's first ones were trained without.
  bool row_token_is_optional() const { return row_token_is_optional_; }

  // Whether framed() writes the special tokens of a text, which the tokenizer may not add.
  bool writes_special_tokens() const { return writes_special_tokens_; }
  // Returns the prompt of a text without a chat template for that many images and videos, which
  // come before a text without placeholders. PaliGemma: "<image><bos>caption en\n".
  std::string framed(std::string_view text, size_t images, size_t videos = 0) const;

  // Returns what replaces the placeholder of image or video `index` (from 0) of a conversation.
  // Throws InvalidArgument if the inputs are of another processor, Unsupported for a video without
  // a placeholder.
  std::vector<ImagePiece> expand(const ImageInputs& inputs, int64_t index) const;
  // Replaces the placeholders in a text by the images and videos in order; texts next to each other
  // are joined. Throws InvalidArgument if their numbers differ.
  std::vector<ImagePiece> expand_text(std::string_view text,
                                      std::span<const ImageInputs> images) const;

 private:
  using Expand = std::function<std::vector<ImagePiece>(const ImageInputs& inputs, int64_t index)>;

  // The first placeholder in a text; null without one.
  struct Place {
    size_t at;
    const std::string* placeholder;
  };
  Place next_place(std::string_view text) const;

  std::string placeholder_, row_token_, video_placeholder_;
  Expand expand_, expand_video_;
  bool row_token_is_optional_ = false;
  std::string written_once_;
  bool writes_special_tokens_ = false;
  std::string text_begin_, text_end_;
};

}  // namespace pippin::image
