// Padding, resizing and pixels from channels, against the reference.
#include "pippin/engine/fusion/fusion_testing.h"

namespace pippin::engine {
namespace {

const std::vector<Fill> kResizeFills = {Fill::Ordinary, Fill::Extremes};

void expect_planned(const ProgramText& text, const std::vector<int64_t>& shape) {
  const mil::Model model = text.returns("y");
  EXPECT_EQ(described(model).find("(reference)"), std::string::npos) << described(model);
  expect_same_values(model, {{shape}}, kResizeFills);
}

TEST(ResizeRules, Padding) {
  for (const std::string mode : {"constant", "reflect", "replicate"}) {
    for (const std::vector<int64_t>& pad :
         std::vector<std::vector<int64_t>>{{1, 2}, {0, 0, 3, 0}, {2, 1, 0, 3}}) {
      SCOPED_TRACE(fmt::format("{} {}", mode, pad));
      const int64_t height = 4 + (pad.size() == 4 ? pad[0] + pad[1] : 0);
      const int64_t width = 5 + pad[pad.size() - 2] + pad.back();
      ProgramText text("tensor<fp32, [2, 3, 4, 5]> x");
      text.integers("pad", pad).number("mode", "string", "\"" + mode + "\"").number("value", -1.5);
      text.op("y", fmt::format("tensor<fp32, [2, 3, {}, {}]>", height, width),
              "pad(x = x, pad = pad, mode = mode, constant_val = value)");
      expect_planned(text, {2, 3, 4, 5});
    }
  }
}

TEST(ResizeRules, Resizing) {
  for (const int64_t height : {1, 4, 7}) {
    for (const int64_t width : {1, 5, 10}) {
      for (const std::string sampling : {"STRICT_ALIGN_CORNERS", "ALIGN_CORNERS", "DEFAULT",
                                         "OFFSET_CORNERS", "UNALIGN_CORNERS"}) {
        for (const std::string mode : {"LINEAR", "NEAREST_NEIGHBOR", "bilinear", "nearest"}) {
          if (mode == "nearest" && sampling != "DEFAULT") continue;
          SCOPED_TRACE(fmt::format("{} {} to {} x {}", sampling, mode, height, width));
          ProgramText text("tensor<fp32, [1, 2, 4, 5]> x");
          text.number("sampling", "string", "\"" + sampling + "\"");
          text.number("mode", "string", "\"" + mode + "\"");
          text.integers("shape", {height, width}).number("dims", "uint32", "2");
          text.number("height", "int32", std::to_string(height));
          text.number("width", "int32", std::to_string(width));
          const std::string sizes = "target_size_height = height, target_size_width = width";
          text.op("y", fmt::format("tensor<fp32, [1, 2, {}, {}]>", height, width),
                  mode == "nearest" ? "resize_nearest_neighbor(x = x, " + sizes + ")"
                  : mode == "bilinear"
                      ? "resize_bilinear(x = x, sampling_mode = sampling, " + sizes + ")"
                      : "resize(x = x, shape = shape, resized_dims = dims, "
                        "interpolation_mode = mode, sampling_mode = sampling)");
          expect_planned(text, {1, 2, 4, 5});
        }
      }
    }
  }
}

TEST(ResizeRules, Upsampling) {
  for (const std::string call :
       {"upsample_nearest_neighbor(x = x, scale_factor_height = two, scale_factor_width = two)",
        "upsample_bilinear(x = x, scale_factor_height = two, scale_factor_width = two)",
        "upsample_bilinear(x = x, scale_factor_height = two, scale_factor_width = two, "
        "align_corners = no)",
        "upsample_bilinear(x = x, scale_factor_height = two, scale_factor_width = two, "
        "align_corners = no, half_pixel_centers = no)"}) {
    SCOPED_TRACE(call);
    ProgramText text("tensor<fp32, [2, 2, 3, 4]> x");
    text.number("two", 2).op("y", "tensor<fp32, [2, 2, 6, 8]>", call);
    expect_planned(text, {2, 2, 3, 4});
  }
}

TEST(ResizeRules, PixelsAndChannels) {
  ProgramText text("tensor<fp32, [2, 8, 6, 4]> x");
  text.number("two", "int32", "2").integers("one_two", {1, 2});
  text.op("a", "tensor<fp32, [2, 2, 12, 8]>", "pixel_shuffle(x = x, upscale_factor = two)");
  text.op("b", "tensor<fp32, [2, 8, 6, 4]>", "space_to_depth(x = a, block_size = two)");
  text.op("c", "tensor<fp32, [2, 2, 12, 8]>", "depth_to_space(x = b, block_size = two)");
  text.op("d", "tensor<fp32, [2, 8, 6, 4]>", "pixel_unshuffle(x = c, downscale_factor = two)");
  text.op("y", "tensor<fp32, [2, 8, 3, 1]>",
          "crop(x = d, crop_height = one_two, crop_width = one_two)");
  expect_planned(text, {2, 8, 6, 4});
}

}  // namespace
}  // namespace pippin::engine
