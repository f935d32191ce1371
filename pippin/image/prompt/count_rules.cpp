// Prompts with one run of rows per image.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/image/processors/processor_config.h"
#include "pippin/image/processors/sizes.h"
#include "pippin/image/prompt/prompt_rules.h"

namespace pippin::image {
namespace {

// A rule whose number of rows is a function of the inputs, between two texts.
template <typename Count>
PromptRule one_run(std::string placeholder, std::string row_token, Count count,
                   std::string before = "", std::string after = "") {
  PromptRule rule{std::move(placeholder), std::move(row_token), {}};
  rule.expand = [=](const ImageInputs& inputs, int64_t) {
    std::vector<ImagePiece> pieces;
    if (!before.empty()) pieces.emplace_back(before);
    pieces.emplace_back(RowRun{count(inputs), 0});
    if (!after.empty()) pieces.emplace_back(after);
    return pieces;
  };
  return rule;
}

PromptRule blocks_of_patches(const PromptSettings& settings, std::string token) {
  const int64_t merge = settings.image_number("merge_size", 2);
  return one_run(token, token, [merge](const ImageInputs& inputs) {
    const auto side = [&](size_t i) { return output_number(inputs, "image_grid_thw", i); };
    return side(0) * side(1) * side(2) / (merge * merge);
  });
}

// Qwen3-VL: "<0.3 seconds><|vision_start|>", the rows of a patch of frames, "<|vision_end|>", ...
std::vector<ImagePiece> timed_patches(const ImageInputs& video, int64_t merge) {
  const int64_t rows = output_number(video, "image_grid_thw", 1) *
                       output_number(video, "image_grid_thw", 2) / (merge * merge);
  std::vector<ImagePiece> pieces;
  pieces.reserve(3 * video.times.size());
  for (size_t i = 0; i < video.times.size(); ++i) {
    pieces.emplace_back(fmt::format("<{:.1f} seconds><|vision_start|>", video.times[i]));
    pieces.emplace_back(RowRun{rows, static_cast<int64_t>(i)});
    pieces.emplace_back("<|vision_end|>");
  }
  return pieces;
}

PromptRule gemma3_rows(const PromptSettings& settings, std::string placeholder) {
  const int64_t count = settings.number("image_seq_length", 256);
  return one_run(
      std::move(placeholder), "<image_soft_token>", [count](const ImageInputs&) { return count; },
      "\n\n<start_of_image>", "<end_of_image>\n\n");
}

int64_t tile_side(const ImageInputs& inputs) {
  const std::vector<int64_t>& shape = inputs.pixel_values.shape;
  if (shape.empty()) fail(ErrorCode::InvalidArgument, "the inputs of an image have no pixels");
  return shape.back();
}

// The patches of a grid of tiles without those that contain only padding.
Size unpadded(Size picture, Size patches) {
  const auto height = static_cast<double>(picture.height);
  const auto width = static_cast<double>(picture.width);
  const auto rows = static_cast<double>(patches.height);
  const auto columns = static_cast<double>(patches.width);
  // Python rounds the exact size to 7 digits before it truncates.
  const auto side = [](double exact) {
    return static_cast<int64_t>(std::nearbyint(exact * 1e7) / 1e7);
  };
  if (width / height > columns / rows) {
    patches.height -= (patches.height - side(height * (columns / width))) / 2 * 2;
  } else {
    patches.width -= (patches.width - side(width * (rows / height))) / 2 * 2;
  }
  return patches;
}

// LLaVA-NeXT's rows: those of the whole picture, those of the tiles without padding, and one at
// the end of each of their lines.
struct PinpointRows {
  std::vector<Size> resolutions;

  Size patches(const ImageInputs& inputs, int64_t side) const {
    const Size picture{output_number(inputs, "image_sizes", 0),
                       output_number(inputs, "image_sizes", 1)};
    const Size space = best_resolution(picture, resolutions);
    const int64_t tile = tile_side(inputs);
    return unpadded(picture, {side * (space.height / tile), side * (space.width / tile)});
  }
};

std::vector<Size> read_resolutions(const PromptSettings& settings) {
  const auto found = settings.image_processor.find("image_grid_pinpoints");
  if (!found) {
    fail(ErrorCode::InvalidFile, "{}: expected a list of sizes",
         settings.image_processor.where("image_grid_pinpoints"));
  }
  std::vector<Size> sizes;
  sizes.reserve(found->size());
  for (const Json& size : found->elements()) {
    sizes.push_back({size.at(0).as_int(1, 1 << 14), size.at(1).as_int(1, 1 << 14)});
  }
  return sizes;
}

// Returns by how many rows the tower's strategy changes the patches of a picture.
int64_t further_rows(const PromptSettings& settings, int64_t additional) {
  const std::string strategy = settings.text("vision_feature_select_strategy", "default");
  if (strategy != "default" && strategy != "full") {
    settings.processor.invalid(fmt::format("unknown strategy '{}'", strategy));
  }
  return settings.number("num_additional_image_tokens", additional) -
         (strategy == "default" ? 1 : 0);
}

}  // namespace

PromptRule read_qwen2_prompt(const PromptSettings& settings) {
  PromptRule rule = blocks_of_patches(settings, "<|image_pad|>");
  rule.video_placeholder = "<|video_pad|>";
  rule.expand_video = rule.expand;
  return rule;
}
PromptRule read_qwen_omni_prompt(const PromptSettings& settings) {
  return blocks_of_patches(settings, "<|IMAGE|>");
}
// Each patch of frames of a video stands for itself, after its time.
PromptRule read_qwen3_prompt(const PromptSettings& settings) {
  PromptRule rule = blocks_of_patches(settings, "<|image_pad|>");
  rule.video_placeholder = "<|vision_start|><|video_pad|><|vision_end|>";
  rule.expand_video = [merge = settings.image_number("merge_size", 2)](const ImageInputs& video,
                                                                       int64_t) {
    return timed_patches(video, merge);
  };
  return rule;
}

namespace {

// A patch of frames of a video as an image, then its time in seconds.
template <typename Time>
PromptRule glm_prompt(const PromptSettings& settings, Time time) {
  PromptRule rule = blocks_of_patches(settings, "<|image|>");
  rule.video_placeholder = "<|video|>";
  rule.expand_video = [=, merge = settings.image_number("merge_size", 2)](const ImageInputs& video,
                                                                          int64_t) {
    const int64_t rows = output_number(video, "image_grid_thw", 1) *
                         output_number(video, "image_grid_thw", 2) / (merge * merge);
    std::vector<ImagePiece> pieces;
    pieces.reserve(3 * video.times.size());
    for (size_t i = 0; i < video.times.size(); ++i) {
      pieces.emplace_back("<|begin_of_image|>");
      pieces.emplace_back(RowRun{rows, static_cast<int64_t>(i)});
      pieces.emplace_back(fmt::format("<|end_of_image|>{}", time(video.times[i])));
    }
    return pieces;
  };
  return rule;
}

}  // namespace

PromptRule read_glm4v_prompt(const PromptSettings& settings) {
  return glm_prompt(settings, [](double time) { return static_cast<int64_t>(time); });
}
PromptRule read_glm46v_prompt(const PromptSettings& settings) {
  return glm_prompt(settings, [](double time) { return fmt::format("{:.1f} seconds", time); });
}
PromptRule read_paddleocr_prompt(const PromptSettings& settings) {
  return blocks_of_patches(settings, "<|IMAGE_PLACEHOLDER|>");
}

PromptRule read_gemma3_prompt(const PromptSettings& settings) {
  return gemma3_rows(settings, "<start_of_image>");
}
PromptRule read_gemma3n_prompt(const PromptSettings& settings) {
  return gemma3_rows(settings, "<image_soft_token>");
}

PromptRule read_paligemma_prompt(const PromptSettings& settings) {
  const int64_t count = settings.image_number("image_seq_length", 256);
  PromptRule rule = one_run("<image>", "<image>", [count](const ImageInputs&) { return count; });
  rule.writes_special_tokens = true;
  rule.text_begin = "<bos>";
  rule.text_end = "\n";
  return rule;
}

PromptRule read_gemma4_prompt(const PromptSettings&) {
  constexpr const char* kCount = "num_soft_tokens_per_image";
  PromptRule rule = one_run(
      "<|image|>", "<|image|>",
      [](const ImageInputs& inputs) { return output_number(inputs, kCount, 0); }, "<|image>",
      "<image|>");
  rule.video_placeholder = "<|video|>";
  rule.expand_video = [](const ImageInputs& video, int64_t) {
    std::vector<ImagePiece> pieces;
    pieces.reserve(3 * video.times.size());
    for (size_t i = 0; i < video.times.size(); ++i) {
      const auto time = static_cast<int64_t>(video.times[i]);
      pieces.emplace_back(
          fmt::format("{}{:02}:{:02} <|image>", i > 0 ? " " : "", time / 60, time % 60));
      pieces.emplace_back(RowRun{output_number(video, kCount, i), static_cast<int64_t>(i)});
      pieces.emplace_back("<image|>");
    }
    return pieces;
  };
  return rule;
}

PromptRule read_llava_prompt(const PromptSettings& settings) {
  const std::string token = settings.text("image_token", "<image>");
  const int64_t patch = std::max<int64_t>(settings.number("patch_size", 14), 1);
  const int64_t further = further_rows(settings, 1);
  PromptRule rule = one_run(token, token, [=](const ImageInputs& inputs) {
    const int64_t side = tile_side(inputs) / patch;
    return side * side + further;
  });
  rule.row_token_is_optional = true;
  return rule;
}

PromptRule read_llava_next_prompt(const PromptSettings& settings) {
  const std::string token = settings.text("image_token", "<image>");
  const int64_t patch = std::max<int64_t>(settings.number("patch_size", 14), 1);
  const int64_t further = further_rows(settings, 1);
  const PinpointRows rows{read_resolutions(settings)};
  PromptRule rule = one_run(token, token, [=](const ImageInputs& inputs) {
    const int64_t side = tile_side(inputs) / patch;
    const Size patches = rows.patches(inputs, side);
    return side * side + further + patches.height * patches.width + patches.height;
  });
  rule.row_token_is_optional = true;
  return rule;
}

PromptRule read_llava_onevision_prompt(const PromptSettings& settings) {
  const std::string token = settings.text("image_token", "<image>");
  const auto side = static_cast<int64_t>(
      std::sqrt(static_cast<double>(settings.number("num_image_tokens", 729))));
  const std::string ratio = settings.text("vision_aspect_ratio", "anyres_max_9");
  constexpr std::string_view kAnyRatio = "anyres_max_";
  if (!ratio.starts_with(kAnyRatio) || ratio.size() > kAnyRatio.size() + 3) {
    settings.processor.invalid(fmt::format("vision_aspect_ratio '{}' is not supported", ratio));
  }
  const double most_tiles = std::atof(ratio.c_str() + kAnyRatio.size());
  const PinpointRows rows{read_resolutions(settings)};
  const int64_t further =
      settings.text("vision_feature_select_strategy", "full") == "default" ? -1 : 0;
  PromptRule rule = one_run(token, token, [=](const ImageInputs& inputs) {
    Size patches = rows.patches(inputs, side);
    // Above `most_tiles` tiles, the rows are resized.
    const double area = static_cast<double>(patches.height * patches.width);
    const double shrink = std::sqrt(area / (most_tiles * static_cast<double>(side * side)));
    if (shrink > 1.1) {
      patches = {static_cast<int64_t>(static_cast<double>(patches.height) / shrink),
                 static_cast<int64_t>(static_cast<double>(patches.width) / shrink)};
    }
    return side * side + further + patches.height * patches.width + patches.height;
  });
  rule.video_placeholder = settings.text("video_token", "<video>");
  rule.expand_video = [half = (side + 1) / 2](const ImageInputs& video, int64_t) {
    return std::vector<ImagePiece>{RowRun{std::ssize(video.times) * half * half + 1, 0}};
  };
  return rule;
}

PromptRule read_deepseek_ocr_prompt(const PromptSettings& settings) {
  const int64_t step = std::max<int64_t>(
      settings.number("patch_size", 16) * settings.number("downsample_ratio", 4), 1);
  const auto rows = [step](int64_t side) {
    const int64_t queries = (side + step - 1) / step;
    return queries * queries;
  };
  const int64_t whole = rows(settings.image_side("size", 1024));
  const int64_t tile = rows(settings.image_number("tile_size", 768));
  return one_run("<image>", "<image>", [=](const ImageInputs& inputs) {
    return whole + tile * output_number(inputs, "num_local_patches", 0) + 1;
  });
}

PromptRule read_got_ocr2_prompt(const PromptSettings& settings) {
  const int64_t rows = settings.number("num_image_tokens", 256);
  return one_run("<imgpad>", "<imgpad>", [rows](const ImageInputs& inputs) {
    return rows * output_number(inputs, "num_patches", 0);
  });
}

// Layers of cross-attention read the image; the token has no rows.
PromptRule read_mllama_prompt(const PromptSettings&) {
  return {"<|image|>", "",
          [](const ImageInputs&, int64_t) { return std::vector<ImagePiece>{"<|image|>"}; }};
}

}  // namespace pippin::image
