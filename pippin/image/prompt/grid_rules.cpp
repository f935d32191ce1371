// Prompts with texts between the tiles or the lines of an image.
#include <algorithm>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/image/prompt/prompt_rules.h"

namespace pippin::image {
namespace {

using Pieces = std::vector<ImagePiece>;

// Returns the number of tiles, for arrays of [..., tiles, 3, height, width].
int64_t num_tiles(const ImageInputs& inputs) {
  const std::vector<int64_t>& shape = inputs.pixel_values.shape;
  if (shape.size() < 4) fail(ErrorCode::InvalidArgument, "the inputs of an image have no tiles");
  return shape[shape.size() - 4];
}

// A number from 1 to 999 in words, as num2words writes it.
std::string in_words(int64_t number) {
  constexpr std::string_view kOnes[] = {"zero",    "one",     "two",       "three",    "four",
                                        "five",    "six",     "seven",     "eight",    "nine",
                                        "ten",     "eleven",  "twelve",    "thirteen", "fourteen",
                                        "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
  constexpr std::string_view kTens[] = {"",      "",      "twenty",  "thirty", "forty",
                                        "fifty", "sixty", "seventy", "eighty", "ninety"};
  if (number >= 100) {
    const std::string hundreds = fmt::format("{} hundred", kOnes[number / 100 % 10]);
    return number % 100 == 0 ? hundreds
                             : fmt::format("{} and {}", hundreds, in_words(number % 100));
  }
  if (number < 20) return std::string(kOnes[number]);
  const std::string_view tens = kTens[number / 10];
  return number % 10 == 0 ? std::string(tens) : fmt::format("{}-{}", tens, kOnes[number % 10]);
}

constexpr std::string_view kAround = "<fake_token_around_image>";

// An introduction, then each frame as a tile after its time.
Pieces smolvlm_video(const ImageInputs& video, int64_t count) {
  const auto seconds = static_cast<int64_t>(video.seconds);
  Pieces pieces{fmt::format(
      "You are provided the following series of {} frames from a {}:{:02}:{:02} [H:MM:SS] video.\n",
      in_words(std::ssize(video.times)), seconds / 3600, seconds / 60 % 60, seconds % 60)};
  for (size_t i = 0; i < video.times.size(); ++i) {
    const auto time = static_cast<int64_t>(video.times[i]);
    pieces.emplace_back(
        fmt::format("\nFrame from {:02}:{:02}:{}<global-img>", time / 60, time % 60, kAround));
    pieces.emplace_back(RowRun{count, static_cast<int64_t>(i)});
    pieces.emplace_back(std::string(kAround));
  }
  pieces.emplace_back("\n\n");
  return pieces;
}

}  // namespace

PromptRule read_smolvlm_prompt(const PromptSettings& settings) {
  PromptRule rule = read_idefics3_prompt(settings);
  rule.video_placeholder = "<video>";
  rule.expand_video = [count = settings.number("image_seq_len", 169)](const ImageInputs& video,
                                                                      int64_t) {
    return smolvlm_video(video, count);
  };
  return rule;
}

PromptRule read_idefics2_prompt(const PromptSettings& settings) {
  const int64_t count = settings.number("image_seq_len", 64);
  PromptRule rule{"<image>", "<image>", [count](const ImageInputs& inputs, int64_t) {
                    Pieces pieces;
                    for (int64_t part = 0; part < num_tiles(inputs); ++part) {
                      pieces.emplace_back(std::string(kAround));
                      pieces.emplace_back(RowRun{count, part});
                      pieces.emplace_back(std::string(kAround));
                    }
                    return pieces;
                  }};
  rule.written_once = kAround;
  return rule;
}

PromptRule read_idefics3_prompt(const PromptSettings& settings) {
  const int64_t count = settings.number("image_seq_len", 169);
  return {
      "<image>", "<image>", [count](const ImageInputs& inputs, int64_t) {
        const int64_t rows = output_number(inputs, "rows", 0);
        const int64_t columns = output_number(inputs, "cols", 0);
        Pieces pieces;
        int64_t tile = 0;
        for (int64_t row = 1; row <= rows; ++row) {
          for (int64_t column = 1; column <= columns; ++column) {
            pieces.emplace_back(fmt::format(
                "{}{}<row_{}_col_{}>", column == 1 && row > 1 ? "\n" : "", kAround, row, column));
            pieces.emplace_back(RowRun{count, tile++});
          }
        }
        pieces.emplace_back(fmt::format("{}{}<global-img>", rows == 0 ? "" : "\n\n", kAround));
        pieces.emplace_back(RowRun{count, tile});
        pieces.emplace_back(std::string(kAround));
        return pieces;
      }};
}

PromptRule read_internvl_prompt(const PromptSettings& settings) {
  const int64_t count = settings.number("image_seq_length", 256);
  return {"<IMG_CONTEXT>", "<IMG_CONTEXT>", [count](const ImageInputs& inputs, int64_t) {
            Pieces pieces{"<img>"};
            for (int64_t tile = 0; tile < num_tiles(inputs); ++tile) {
              pieces.emplace_back(RowRun{count, tile});
            }
            pieces.emplace_back("</img>");
            return pieces;
          }};
}

PromptRule read_aya_prompt(const PromptSettings& settings) {
  const int64_t step = std::max<int64_t>(
      settings.number("patch_size", 28) * settings.number("downsample_factor", 1), 1);
  const int64_t side = settings.number("img_size", 364) / step;
  return {
      "<image>", "<|IMG_PATCH|>", [count = side * side](const ImageInputs& inputs, int64_t) {
        const int64_t tiles = num_tiles(inputs);
        Pieces pieces;
        for (int64_t tile = 0; tile < tiles; ++tile) {
          const bool last = tile == tiles - 1;
          pieces.emplace_back(fmt::format("{}{}", tile == 0 ? "<|START_OF_IMG|>" : "",
                                          last ? "TILE_GLOBAL" : fmt::format("TILE_{}", tile + 1)));
          pieces.emplace_back(RowRun{count, tile});
        }
        pieces.emplace_back("<|END_OF_IMG|>");
        return pieces;
      }};
}

PromptRule read_cohere2_prompt(const PromptSettings& settings) {
  constexpr int64_t kDownsampling = 2;
  const int64_t side =
      settings.image_side("size", 512) / (settings.image_number("patch_size", 16) * kDownsampling);
  return {"<|IMG_PATCH|>", "<|IMG_PATCH|>",
          [count = side * side](const ImageInputs& inputs, int64_t) {
            Pieces pieces{"<|START_OF_IMG|>"};
            for (int64_t tile = 0; tile < num_tiles(inputs); ++tile) {
              pieces.emplace_back(RowRun{count, tile});
              pieces.emplace_back("<|IMG_LINE_BREAK|>");
            }
            pieces.emplace_back("<|END_OF_IMG|>");
            return pieces;
          }};
}

PromptRule read_llama4_prompt(const PromptSettings& settings) {
  // Four patches become one row.
  const int64_t side =
      settings.image_side("size", 336) / std::max<int64_t>(settings.number("patch_size", 14), 1);
  return {"<|image|>", "<|patch|>", [count = side * side / 4](const ImageInputs& inputs, int64_t) {
            const int64_t rows = output_number(inputs, "aspect_ratios", 0);
            const int64_t columns = output_number(inputs, "aspect_ratios", 1);
            Pieces pieces{"<|image_start|>"};
            int64_t tile = 0;
            for (int64_t i = 0; rows * columns > 1 && i < rows * columns; ++i) {
              pieces.emplace_back(RowRun{count, tile++});
              pieces.emplace_back(i % columns == columns - 1 ? "<|tile_y_separator|>"
                                                             : "<|tile_x_separator|>");
            }
            pieces.emplace_back("<|image|>");
            pieces.emplace_back(RowRun{count, tile});
            pieces.emplace_back("<|image_end|>");
            return pieces;
          }};
}

PromptRule read_lfm2_prompt(const PromptSettings& settings) {
  const int64_t patch = settings.image_number("encoder_patch_size", 16);
  const int64_t factor = settings.image_number("downsample_factor", 2);
  const auto rows_of = [=](int64_t height, int64_t width) {
    const auto side = [&](int64_t length) { return (length / patch + factor - 1) / factor; };
    return side(height) * side(width);
  };
  const int64_t tile_side = settings.image_number("tile_size", 512);
  const bool thumbnail = settings.image_processor.get_bool_or("use_thumbnail", true);
  return {"<image>", "<image>", [=](const ImageInputs& inputs, int64_t) {
            const int64_t rows = output_number(inputs, "image_rows", 0);
            const int64_t columns = output_number(inputs, "image_cols", 0);
            const bool several = rows > 1 || columns > 1;
            Pieces pieces{"<|image_start|>"};
            int64_t tile = 0;
            for (int64_t i = 0; several && i < rows * columns; ++i) {
              pieces.emplace_back(
                  fmt::format("<|img_row_{}_col_{}|>", i / columns + 1, i % columns + 1));
              pieces.emplace_back(RowRun{rows_of(tile_side, tile_side), tile++});
            }
            if (several && thumbnail) pieces.emplace_back("<|img_thumbnail|>");
            if (!several || thumbnail) {
              pieces.emplace_back(RowRun{rows_of(output_number(inputs, "image_sizes", 0),
                                                 output_number(inputs, "image_sizes", 1)),
                                         tile});
            }
            pieces.emplace_back("<|image_end|>");
            return pieces;
          }};
}

PromptRule read_minicpm_prompt(const PromptSettings& settings) {
  const bool with_id = settings.image_processor.get_bool_or("use_image_id", true);
  const std::string mode = settings.image_processor.get_string_or("downsample_mode", "16x");
  const int64_t divisor = mode == "4x" ? 4 : 16;
  return {"<|image_pad|>", "<|image_pad|>", [=](const ImageInputs& inputs, int64_t index) {
            const auto rows_of = [&](size_t tile) {
              return output_number(inputs, "target_sizes", 2 * tile) *
                     output_number(inputs, "target_sizes", 2 * tile + 1) / divisor;
            };
            Pieces pieces{with_id ? fmt::format("<image_id>{}</image_id><image>", index)
                                  : std::string("<image>")};
            pieces.emplace_back(RowRun{rows_of(0), 0});
            std::string before = "</image>";
            // transformers takes the first number of a grid as rows here.
            const int64_t rows = output_number(inputs, "grids", 0);
            const int64_t columns = output_number(inputs, "grids", 1);
            for (int64_t i = 0; i < rows * columns; ++i) {
              const bool new_row = i > 0 && i % columns == 0;
              pieces.emplace_back(fmt::format("{}{}<slice>", before, new_row ? "\n" : ""));
              pieces.emplace_back(RowRun{rows_of(1), i + 1});
              before = "</slice>";
            }
            pieces.emplace_back(before);
            return pieces;
          }};
}

PromptRule read_ovis2_prompt(const PromptSettings& settings) {
  const int64_t count = settings.number("image_seq_length", 256);
  return {settings.text("image_token", "<image>"), "<IMG_ATOM>",
          [count](const ImageInputs& inputs, int64_t) {
            const int64_t rows = output_number(inputs, "grids", 0);
            const int64_t columns = output_number(inputs, "grids", 1);
            Pieces pieces{"<IMG_START>"};
            pieces.emplace_back(RowRun{count, 0});
            std::string before = "<IMG_GRID>";
            for (int64_t i = 0; rows * columns > 1 && i < rows * columns; ++i) {
              if (i > 0) before = i % columns == 0 ? "<IMG_ROW>" : "<IMG_COL>";
              pieces.emplace_back(before);
              pieces.emplace_back(RowRun{count, i + 1});
              before.clear();
            }
            pieces.emplace_back(fmt::format("{}<IMG_END>", before));
            return pieces;
          }};
}

PromptRule read_pixtral_prompt(const PromptSettings& settings) {
  const int64_t step = std::max<int64_t>(
      settings.number("patch_size", 16) * settings.number("spatial_merge_size", 1), 1);
  const std::string token = settings.text("image_token", "[IMG]");
  const std::string line_end = settings.text("image_break_token", "[IMG_BREAK]");
  const std::string end = settings.text("image_end_token", "[IMG_END]");
  return {token, token, [=](const ImageInputs& inputs, int64_t) {
            const int64_t lines = output_number(inputs, "image_sizes", 0) / step;
            const int64_t columns = output_number(inputs, "image_sizes", 1) / step;
            Pieces pieces;
            pieces.reserve(static_cast<size_t>(2 * lines));
            for (int64_t line = 0; line < lines; ++line) {
              pieces.emplace_back(RowRun{columns, 0});
              pieces.emplace_back(line == lines - 1 ? end : line_end);
            }
            return pieces;
          }};
}

}  // namespace pippin::image
