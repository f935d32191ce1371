#include "pippin/runtime/vision/image_input.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/image/video.h"
#include "pippin/runtime/row_ids.h"

namespace pippin::runtime {
namespace {

// Each run of rows as many times the token that transformers writes for a row. The tower tells how
// many: processors know the size of its patches from a file of their own, which may be missing.
std::string with_row_tokens(const std::vector<image::ImagePiece>& pieces,
                            const VisionTower::Rows& rows, const std::string& row_token) {
  std::string text;
  size_t run = 0;
  for (const image::ImagePiece& piece : pieces) {
    if (const auto* const words = std::get_if<std::string>(&piece)) {
      text += *words;
      continue;
    }
    const int64_t count = rows.at(run++)->count;
    for (int64_t i = 0; i < count; ++i) text += row_token;
  }
  return text;
}

// The ids of the pieces, texts encoded on their own, with those of rows between them.
std::vector<int32_t> ids_of_pieces(const Tokenizer& tokenizer,
                                   const std::vector<image::ImagePiece>& pieces,
                                   const VisionTower::Rows& rows, bool add_special_tokens) {
  std::vector<int32_t> ids;
  if (add_special_tokens) ids = tokenizer.encode("", true);
  size_t run = 0;
  for (const image::ImagePiece& piece : pieces) {
    if (const auto* const words = std::get_if<std::string>(&piece)) {
      const std::vector<int32_t> own = tokenizer.encode(*words, false);
      ids.insert(ids.end(), own.begin(), own.end());
      continue;
    }
    const auto& own = rows.at(run++);
    for (int64_t row = 0; row < own->count; ++row) ids.push_back(row_id(own->digest, row));
  }
  return ids;
}

size_t count_runs(const std::vector<image::ImagePiece>& pieces) {
  return static_cast<size_t>(std::count_if(
      pieces.begin(), pieces.end(),
      [](const image::ImagePiece& piece) { return std::holds_alternative<image::RowRun>(piece); }));
}

}  // namespace

// An image on its way: of the pixels only the shape is kept.
struct ImageInput::Processed {
  image::ImageInputs inputs;
  VisionTower::Rows rows;
};

ImageInput::ImageInput(image::ImageProcessor processor, image::ImagePrompt rule,
                       std::unique_ptr<VisionTower> tower, int64_t most_rows,
                       std::optional<image::ImageProcessor> videos)
    : processor_(std::move(processor)),
      videos_(std::move(videos)),
      rule_(std::move(rule)),
      tower_(std::move(tower)),
      most_rows_(most_rows) {}

image::ImageInputs ImageInput::process(const ImageFile& file) const {
  return naming_image(file, [&] {
    if (!file.is_video) {
      return processor_.process(image::parse_model_picture(file.bytes, file.name));
    }
    image::Video video = file.frames.empty() ? image::parse_video(file.bytes, file.name)
                                             : image::parse_video_frames(file.frames, file.name);
    return videos_.value().process(std::move(video), file.fps);
  });
}

ImageInput::Processed ImageInput::encode(const ImageFile& file, int64_t index,
                                         int64_t rows_before) const {
  check_cancel();
  Processed result;
  result.inputs = process(file);
  const size_t runs = count_runs(rule_.expand(result.inputs, index));
  naming_image(file, [&] {
    const int64_t rows = rows_before + tower_->count_rows(result.inputs);
    if (rows > most_rows_) {
      fail(ErrorCode::LimitExceeded, "the images up to this one have {} rows, the context holds {}",
           rows, most_rows_);
    }
    result.rows = tower_->encode(result.inputs);
  });
  result.inputs.pixel_values.values = {};
  if (result.rows.size() != runs) {
    fail(ErrorCode::Internal, "{}: the tower gives {} runs of rows, the prompt has {}", file.name,
         result.rows.size(), runs);
  }
  return result;
}

void ImageInput::check_videos(const std::string& name) const {
  if (takes_videos()) return;
  fail(ErrorCode::Unsupported,
       "{}: videos are not supported for this model (supported: Gemma 4, GLM-4.1V, GLM-4.6V, "
       "LLaVA-OneVision, Qwen2-VL, Qwen2.5-VL, Qwen3-VL, Qwen3.5, SmolVLM)",
       name);
}

void ImageInput::check_kinds(std::span<const ImageFile> images) const {
  for (const ImageFile& file : images) {
    if (file.is_video) check_videos(file.name);
  }
}

VisionPrompt ImageInput::read(const Tokenizer& tokenizer, std::string_view text,
                              bool add_special_tokens, std::span<const ImageFile> images) const {
  check_kinds(images);
  VisionPrompt prompt;
  std::vector<image::ImageInputs> inputs;
  inputs.reserve(images.size());
  int64_t rows = 0;
  for (const ImageFile& file : images) {
    Processed image = encode(file, static_cast<int64_t>(inputs.size()), rows);
    for (auto& run : image.rows) {
      rows += run->count;
      prompt.rows.push_back(std::move(run));
    }
    inputs.push_back(std::move(image.inputs));
  }
  const auto pieces = rule_.expand_text(text, inputs);
  const std::optional<int32_t> token = tokenizer.token_to_id(rule_.row_token());
  if (!token && rule_.row_token_is_optional()) {
    prompt.ids = ids_of_pieces(tokenizer, pieces, prompt.rows, add_special_tokens);
    return prompt;
  }
  if (!token) {
    fail(ErrorCode::InvalidFile, "the tokenizer has no token {}, which stands for rows of images",
         rule_.row_token());
  }
  prompt.ids =
      tokenizer.encode(with_row_tokens(pieces, prompt.rows, rule_.row_token()), add_special_tokens);
  int64_t found = 0;
  for (const int32_t id : prompt.ids) found += id == *token ? 1 : 0;
  if (found != rows) {
    fail(ErrorCode::InvalidArgument,
         "the prompt has {} tokens {}, the images have {} rows (a text may not contain the token)",
         found, rule_.row_token(), rows);
  }
  size_t run = 0;
  int64_t row = 0;
  for (int32_t& id : prompt.ids) {
    if (id != *token) continue;
    id = row_id(prompt.rows[run]->digest, row);
    if (++row == prompt.rows[run]->count) {
      ++run;
      row = 0;
    }
  }
  return prompt;
}

VisionTower::Rows ImageInput::rows(const ImageFile& image) const {
  check_kinds({&image, 1});
  return encode(image, 0, 0).rows;
}

}  // namespace pippin::runtime
