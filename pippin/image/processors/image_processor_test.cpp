#include "pippin/image/processors/image_processor.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/image/processors/kinds.h"
#include "pippin/image/processors/sizes.h"

namespace pippin::image {
namespace {

ImageProcessor parse_processor(std::string_view type, std::string_view members = "",
                               std::optional<Backend> backend = std::nullopt) {
  return ImageProcessor::parse(Json::parse(fmt::format(R"({{"image_processor_type": "{}"{}{}}})",
                                                       type, members.empty() ? "" : ", ", members),
                                           "p.json"),
                               backend);
}

Picture plain_picture(int64_t width, int64_t height, uint8_t level = 100) {
  return {width, height, 3, std::vector<uint8_t>(static_cast<size_t>(width * height * 3), level)};
}

using Shape = std::vector<int64_t>;

TEST(ImageProcessor, ChoosesTheBackendOfTransformers) {
  EXPECT_EQ(parse_processor("CLIPImageProcessor").backend(), Backend::Torchvision);
  EXPECT_EQ(parse_processor("CLIPImageProcessorFast").type(), "CLIPImageProcessor");
  EXPECT_EQ(parse_processor("CLIPImageProcessorPil").backend(), Backend::Pil);
  EXPECT_EQ(parse_processor("SmolVLMImageProcessor").backend(), Backend::Pil);
  EXPECT_EQ(parse_processor("SmolVLMImageProcessor", "", Backend::Torchvision).backend(),
            Backend::Torchvision);
  const auto old = ImageProcessor::parse(
      Json::parse(R"({"feature_extractor_type": "ViTFeatureExtractor"})", "p.json"));
  EXPECT_EQ(old.type(), "ViTImageProcessor");
}

TEST(ImageProcessor, RejectsUnknownValues) {
  EXPECT_ERROR(parse_processor("FooProcessor"), ErrorCode::Unsupported,
               "p.json: image_processor_type: 'FooProcessor' is not supported (supported: Aria");
  EXPECT_ERROR(parse_processor("CLIPImageProcessor", R"("do_flip": true)"), ErrorCode::Unsupported,
               "p.json: do_flip: true is not supported for CLIPImageProcessor");
  EXPECT_NO_THROW(parse_processor("CLIPImageProcessor", R"("do_flip": false, "foo": 1)"));
  EXPECT_ERROR(parse_processor("CLIPImageProcessor", R"("size": {"height": 3})"),
               ErrorCode::InvalidFile, "p.json: size: expected both a height and a width");
  EXPECT_ERROR(parse_processor("CLIPImageProcessor", R"("size": 100000)"), ErrorCode::InvalidFile,
               "size: 100000 pixels (limit: 16384)");
  EXPECT_ERROR(parse_processor("CLIPImageProcessor", R"("image_std": [1, 1, 0])"),
               ErrorCode::InvalidFile, "image_std: a value is 0");
  EXPECT_ERROR(parse_processor("CLIPImageProcessor", R"("image_mean": [1, 2])"),
               ErrorCode::InvalidFile, "image_mean: 2 numbers, expected 3");
  EXPECT_ERROR(parse_processor("CLIPImageProcessor", R"("resample": 9)"), ErrorCode::InvalidFile,
               "resample");
  EXPECT_ERROR(ImageProcessor::parse(Json::parse("[]", "p.json")), ErrorCode::InvalidFile,
               "p.json: expected an object");
}

TEST(ImageProcessor, OpensTheFilesOfAFolder) {
  TempDir folder;
  EXPECT_ERROR(ImageProcessor::open(folder.path()), ErrorCode::NotFound,
               "neither a preprocessor_config.json nor a processor_config.json");
  write_file(folder.path() / "preprocessor_config.json",
             R"({"image_processor_type": "ViTImageProcessor"})");
  EXPECT_EQ(ImageProcessor::open(folder.path()).type(), "ViTImageProcessor");
  write_file(folder.path() / "processor_config.json",
             R"({"image_processor": {"image_processor_type": "SiglipImageProcessor"}})");
  EXPECT_EQ(ImageProcessor::open(folder.path()).type(), "SiglipImageProcessor");
}

// Settings of processors that replace those of image processors.
TEST(ImageProcessor, FollowsTheProcessorOfTheModel) {
  const auto parse_both = [](const char* image_processor, const char* processor) {
    return ImageProcessor::parse(Json::parse(image_processor, "preprocessor_config.json"),
                                 Json::parse(processor, "processor_config.json"));
  };
  const char* grid = R"({"image_processor_type": "GotOcr2ImageProcessor", "size": 16,
                         "crop_to_patches": false})";
  const Picture wide = plain_picture(32, 16);
  EXPECT_EQ(parse_both(grid, "{}").process(wide).pixel_values.shape, (Shape{1, 3, 16, 16}));
  EXPECT_EQ(parse_both(grid, R"({"processor_class": "InternVLProcessor"})")
                .process(wide)
                .pixel_values.shape,
            (Shape{3, 3, 16, 16}));
  const char* pixtral = R"({"image_processor_type": "PixtralImageProcessor", "patch_size": 14})";
  EXPECT_EQ(parse_both(pixtral, "{}").process(wide).pixel_values.shape, (Shape{1, 3, 28, 42}));
  EXPECT_EQ(parse_both(pixtral, R"({"processor_class": "PixtralProcessor", "patch_size": 14,
                                    "spatial_merge_size": 2})")
                .process(wide)
                .pixel_values.shape,
            (Shape{1, 3, 28, 56}));
}

// (100 / 255 - 0.5) / 0.5
TEST(ImageProcessor, NormalizesPixels) {
  const ImageInputs inputs = parse_processor("ViTImageProcessor").process(plain_picture(5, 3));
  EXPECT_EQ(inputs.pixel_values.shape, (Shape{1, 3, 224, 224}));
  for (const float value : inputs.pixel_values.values) {
    ASSERT_NEAR(value, (100 / 255.0 - 0.5) / 0.5, 1e-6);
  }
  const ImageInputs raw =
      parse_processor("ViTImageProcessor", R"("do_rescale": false, "do_normalize": false)")
          .process(plain_picture(5, 3));
  EXPECT_EQ(raw.pixel_values.values[0], 100);
}

TEST(ImageProcessor, ConvertsGrayAndAlpha) {
  const std::string raw = R"("do_rescale": false, "do_normalize": false, "size": 1)";
  const Picture gray{1, 1, 1, {50}};
  EXPECT_EQ(parse_processor("ViTImageProcessor", raw).process(gray).pixel_values.values,
            (std::vector<float>{50, 50, 50}));
  // Most classes drop alpha, those of Idefics composite over white.
  const Picture clear{1, 1, 4, {10, 20, 30, 128}};
  EXPECT_EQ(parse_processor("ViTImageProcessor", raw).process(clear).pixel_values.values,
            (std::vector<float>{10, 20, 30}));
  const ImageInputs inputs = parse_processor("Idefics2ImageProcessor",
                                             R"("do_rescale": false, "do_normalize": false,
                         "size": {"shortest_edge": 1, "longest_edge": 1})")
                                 .process(clear);
  EXPECT_EQ(inputs.pixel_values.values, (std::vector<float>{132, 137, 142}));
  EXPECT_ERROR(parse_processor("ViTImageProcessor").process({2, 2, 3, {1}}),
               ErrorCode::InvalidArgument, "2 x 2 pixels with 3 channels has 1 bytes");
}

// Only the pixels that remain are computed: the whole would have 500 million.
TEST(ImageProcessor, CropsLongPictures) {
  const ImageInputs inputs = parse_processor("CLIPImageProcessor").process(plain_picture(1, 10000));
  EXPECT_EQ(inputs.pixel_values.shape, (Shape{1, 3, 224, 224}));
}

// Each kind accepts pictures of unusual shapes or rejects them with an error, and the shapes that
// it states fit the values.
TEST(ImageProcessor, BoundsUnusualPictures) {
  for (const ImageKindRow& row : kImageKinds) {
    SCOPED_TRACE(row.type);
    std::string members;
    if (row.type == "LlavaNextImageProcessor")
      members = R"("size": 224, "image_grid_pinpoints": [[224, 448]])";
    const auto processor = parse_processor(row.type, members);
    for (const auto& [width, height] : {std::pair{1, 1}, std::pair{1, 3000}, std::pair{3000, 1}}) {
      try {
        const ImageInputs inputs = processor.process(plain_picture(width, height));
        int64_t count = 1;
        for (const int64_t length : inputs.pixel_values.shape) count *= length;
        EXPECT_EQ(static_cast<size_t>(count), inputs.pixel_values.values.size());
        for (const auto& [name, array] : inputs.sizes) {
          count = 1;
          for (const int64_t length : array.shape) count *= length;
          EXPECT_EQ(static_cast<size_t>(count), array.values.size()) << name;
        }
      } catch (const Error& error) {
        EXPECT_TRUE(error.code() == ErrorCode::InvalidArgument ||
                    error.code() == ErrorCode::LimitExceeded)
            << error.what();
      }
    }
  }
}

// By the rule of transformers' class: rows and columns of patches.
TEST(ImageProcessor, ScalesToANumberOfPatches) {
  struct Case {
    int64_t width, height, patch, most, rows, columns;
  };
  for (const Case& one :
       {Case{53, 37, 16, 256, 13, 19}, Case{224, 224, 16, 256, 16, 16},
        Case{640, 427, 16, 256, 13, 19}, Case{300, 900, 16, 256, 27, 9}, Case{1, 1, 16, 256, 7, 7},
        Case{1, 3000, 16, 256, 256, 1}, Case{3000, 1, 16, 7, 1, 7},
        Case{640, 427, 16, 1024, 26, 39}, Case{5, 4, 2, 12, 3, 4}, Case{7, 7, 3, 1, 1, 1}}) {
    SCOPED_TRACE(
        fmt::format("{} x {}, {} patches of {}", one.width, one.height, one.most, one.patch));
    const auto processor =
        parse_processor("Siglip2ImageProcessor", fmt::format(R"("patch_size": {},
                         "max_num_patches": {})",
                                                             one.patch, one.most));
    const ImageInputs inputs = processor.process(plain_picture(one.width, one.height));
    const int64_t count = one.rows * one.columns, size = one.patch * one.patch * 3;
    EXPECT_EQ(inputs.sizes.at("spatial_shapes").values, (Shape{one.rows, one.columns}));
    EXPECT_EQ(inputs.pixel_values.shape, (Shape{1, one.most, size}));
    Shape mask(static_cast<size_t>(one.most));
    std::fill(mask.begin(), mask.begin() + count, 1);
    EXPECT_EQ(inputs.sizes.at("pixel_attention_mask").values, mask);
    for (int64_t i = 0; i < one.most * size; ++i) {
      const double expected = i < count * size ? 100 / 127.5 - 1 : 0;
      ASSERT_NEAR(inputs.pixel_values.values[static_cast<size_t>(i)], expected, 1e-6) << i;
    }
  }
}

TEST(ImageProcessor, CutsPatchesInRows) {
  const std::string raw = R"("do_resize": false, "do_rescale": false, "do_normalize": false,
      "patch_size": 2, "max_num_patches": )";
  Picture picture{5, 2, 3, {}};  // a column belongs to no patch
  for (uint8_t i = 0; i < 30; ++i) picture.pixels.push_back(i);
  const auto inputs = parse_processor("Siglip2ImageProcessor", raw + "2").process(picture);
  EXPECT_EQ(inputs.sizes.at("spatial_shapes").values, (Shape{1, 2}));
  EXPECT_EQ(inputs.pixel_values.values,
            (std::vector<float>{0, 1, 2, 3, 4,  5,  15, 16, 17, 18, 19, 20,
                                6, 7, 8, 9, 10, 11, 21, 22, 23, 24, 25, 26}));
  EXPECT_ERROR(parse_processor("Siglip2ImageProcessor", raw + "1").process(picture),
               ErrorCode::InvalidArgument, "has 2 patches of 2 x 2 (1 to 1 are possible)");
  EXPECT_ERROR(parse_processor("Siglip2ImageProcessor", raw + "1").process(plain_picture(9, 1)),
               ErrorCode::InvalidArgument, "has 0 patches of 2 x 2");
  EXPECT_ERROR(parse_processor("Siglip2ImageProcessor",
                               R"("do_resize": false, "patch_size": 256, "max_num_patches": 65536)")
                   .process(plain_picture(256, 256)),
               ErrorCode::LimitExceeded, "65536 patches of 256 x 256 pixels (limit: 67108864");
}

// Frames of 8 x 8 pixels, each of one level.
Video plain_video(int64_t frames, double fps) {
  Video video;
  for (int64_t i = 0; i < frames; ++i) {
    video.frames.push_back(plain_picture(8, 8, static_cast<uint8_t>(10 * i)));
  }
  video.fps = fps;
  return video;
}

class VideoProcessors : public testing::Test {
 protected:
  ImageProcessor open(const char* name, const std::string& members) {
    write_file(folder_.path() / name,
               fmt::format(R"({{"patch_size": 2, "temporal_patch_size": 2, "merge_size": 2,
                                "do_rescale": false, "do_normalize": false, {}}})",
                           members));
    return ImageProcessor::open_video(folder_.path()).value();
  }
  // The level of the first pixel of each frame of each patch.
  static std::vector<float> levels(const ImageInputs& inputs) {
    const auto size = static_cast<size_t>(inputs.pixel_values.shape.at(1));
    std::vector<float> found;
    for (size_t i = 0; i < inputs.pixel_values.values.size(); i += 16 * size) {
      found.push_back(inputs.pixel_values.values[i]);
      found.push_back(inputs.pixel_values.values[i + 4]);
    }
    return found;
  }

  TempDir folder_;
};

// Without a configuration of videos: that of images.
TEST_F(VideoProcessors, JoinFramesLikeQwen2) {
  const auto processor = open("preprocessor_config.json",
                              R"("image_processor_type": "Qwen2VLImageProcessor", "min_pixels": 64,
              "max_pixels": 64, "do_sample_frames": false)");
  const ImageInputs inputs = processor.process(plain_video(5, 0), 0);
  EXPECT_EQ(inputs.pixel_values.shape, (Shape{48, 24}));
  EXPECT_EQ(inputs.sizes.at("image_grid_thw").values, (Shape{3, 4, 4}));
  EXPECT_EQ(levels(inputs), (std::vector<float>{0, 10, 20, 30, 40, 40}));
  EXPECT_DOUBLE_EQ(inputs.seconds_per_patch, 1);
  // Every second of 7 frames, in pairs.
  const ImageInputs fewer = processor.process(plain_video(7, 4), 2);
  EXPECT_EQ(levels(fewer), (std::vector<float>{0, 10, 30, 50}));
  // A picture is two equal frames.
  Video still = plain_video(2, 0);
  still.frames[0] = still.frames[1];
  EXPECT_EQ(processor.process(still, 0).pixel_values.values,
            ImageProcessor::open(folder_.path()).process(still.frames[1]).pixel_values.values);
  still.frames[0] = plain_picture(8, 6);
  EXPECT_ERROR(processor.process(still, 0), ErrorCode::InvalidArgument, "several sizes");
  EXPECT_ERROR(ImageProcessor::open(folder_.path()).process(plain_video(2, 0), 0),
               ErrorCode::Unsupported, "Qwen2VLImageProcessor has no videos");
}

TEST_F(VideoProcessors, ChooseFramesLikeQwen3) {
  write_file(folder_.path() / "preprocessor_config.json",
             R"({"image_processor_type": "Qwen2VLImageProcessorFast"})");
  const auto processor = open("video_preprocessor_config.json",
                              R"("video_processor_type": "Qwen3VLVideoProcessor", "fps": 2,
                                 "size": {"shortest_edge": 256, "longest_edge": 256},
                                 "do_sample_frames": true)");
  // 0, 7/3, 14/3 and 7 of 8 frames; four frames of 64 pixels are the limit.
  const ImageInputs inputs = processor.process(plain_video(8, 4), 0);
  EXPECT_EQ(levels(inputs), (std::vector<float>{0, 20, 50, 70}));
  EXPECT_EQ(inputs.sizes.at("image_grid_thw").values, (Shape{2, 4, 4}));
  EXPECT_EQ(inputs.times, (std::vector<double>{0.25, 1.5}));
  EXPECT_EQ(processor.process(plain_video(16, 4), 4).sizes.at("image_grid_thw").values,
            (Shape{8, 2, 2}));
  // Without a configuration of videos, by the model.
  std::filesystem::remove(folder_.path() / "video_preprocessor_config.json");
  const auto size = [&] {
    return open("preprocessor_config.json",
                R"("image_processor_type": "Qwen2VLImageProcessor", "min_pixels": 256,
                   "max_pixels": 256)")
        .process(plain_video(4, 0), 0)
        .sizes.at("image_grid_thw")
        .values;
  };
  EXPECT_EQ(size(), (Shape{2, 8, 8}));
  write_file(folder_.path() / "config.json", R"({"model_type": "qwen3_vl"})");
  EXPECT_EQ(size(), (Shape{2, 4, 4}));
}

TEST_F(VideoProcessors, ChooseFramesLikeSmolVlm) {
  const auto processor =
      open("preprocessor_config.json",
           R"("image_processor_type": "SmolVLMImageProcessor", "size": {"longest_edge": 16},
              "max_image_size": {"longest_edge": 4},
              "video_sampling": {"fps": 1, "max_frames": 4, "video_size": {"longest_edge": 8}})");
  const auto firsts = [](const ImageInputs& inputs) {
    std::vector<float> found;
    for (size_t i = 0; i < inputs.pixel_values.values.size(); i += 48) {
      found.push_back(inputs.pixel_values.values[i]);
    }
    return found;
  };
  // 3 of 3 seconds; 4 of 12 seconds, without the first and the last one.
  const ImageInputs inputs = processor.process(plain_video(6, 2), 0);
  EXPECT_EQ(inputs.pixel_values.shape, (Shape{1, 3, 3, 4, 4}));
  EXPECT_EQ(firsts(inputs), (std::vector<float>{0, 20, 50}));
  EXPECT_EQ(inputs.times, (std::vector<double>{0, 1, 2.5}));
  EXPECT_DOUBLE_EQ(inputs.seconds, 3);
  EXPECT_EQ(processor.process(plain_video(24, 2), 0).times, (std::vector<double>{1, 4, 7.5, 11}));
}

TEST_F(VideoProcessors, ChooseFramesLikeGlm) {
  const std::string sizes = R"("size": {"shortest_edge": 64, "longest_edge": 100000}, )";
  const auto processor = open("video_preprocessor_config.json",
                              sizes + R"("video_processor_type": "Glm4vVideoProcessor")");
  // 2 frames per second of 3.5 seconds at 4; the last of an odd number stands twice.
  const ImageInputs inputs = processor.process(plain_video(14, 4), 0);
  EXPECT_EQ(levels(inputs), (std::vector<float>{0, 20, 40, 60, 80, 100, 120, 120}));
  EXPECT_EQ(inputs.sizes.at("image_grid_thw").values, (Shape{4, 4, 4}));
  EXPECT_EQ(inputs.times, (std::vector<double>{0, 1, 2, 3}));
  // Of a rate that is not a multiple: at 0, 0.5, 1 and 1.5 seconds or just after.
  EXPECT_EQ(levels(processor.process(plain_video(6, 3), 0)), (std::vector<float>{0, 20, 30, 50}));
  // A folder has as many frames per second as are chosen.
  EXPECT_EQ(processor.process(plain_video(4, 0), 1).times, (std::vector<double>{0, 2}));
  // At most as many as in a second, of all 4.
  const auto brief =
      open("video_preprocessor_config.json",
           sizes + R"("video_processor_type": "Glm4vVideoProcessor", "max_duration": 1)");
  EXPECT_EQ(levels(brief.process(plain_video(16, 4), 0)), (std::vector<float>{0, 150}));

  // 6 frames per second of a short video: all of 3 seconds at 4, by repetition.
  const auto by_length = open("video_preprocessor_config.json",
                              sizes + R"("video_processor_type": "Glm46VVideoProcessor")");
  EXPECT_EQ(by_length.process(plain_video(12, 4), 0).times,
            (std::vector<double>{0, 0.5, 1, 1.5, 2, 2.5}));
  // 18 of 24 at 8.
  const ImageInputs fewer = by_length.process(plain_video(24, 8), 0);
  EXPECT_EQ(fewer.sizes.at("image_grid_thw").values.at(0), 9);
  EXPECT_EQ(fewer.times.at(1), 3 / 8.0);
  // A rate that is asked for.
  EXPECT_EQ(levels(by_length.process(plain_video(16, 8), 1)), (std::vector<float>{0, 80}));
}

TEST_F(VideoProcessors, ChooseFramesByNumber) {
  const auto gemma = open("video_preprocessor_config.json",
                          R"("video_processor_type": "Gemma4VideoProcessor", "num_frames": 2,
                             "pooling_kernel_size": 2, "max_soft_tokens": 70)");
  const ImageInputs inputs = gemma.process(plain_video(5, 2), 0);
  EXPECT_EQ(inputs.pixel_values.shape, (Shape{2, 280, 12}));
  EXPECT_EQ(inputs.sizes.at("image_position_ids").shape, (Shape{2, 280, 2}));
  EXPECT_EQ(inputs.sizes.at("num_soft_tokens_per_image").values, (Shape{64, 64}));
  EXPECT_EQ(inputs.pixel_values.values.at(280 * 12), 20);
  EXPECT_EQ(inputs.times, (std::vector<double>{0, 1}));
  EXPECT_EQ(gemma.process(plain_video(5, 2), 1).times, (std::vector<double>{0, 1}));
  EXPECT_EQ(gemma.process(plain_video(3, 0), 0).times, (std::vector<double>{0, 1}));
  const auto llava = open("video_preprocessor_config.json",
                          R"("video_processor_type": "LlavaOnevisionVideoProcessor",
                             "size": {"height": 4, "width": 4})");
  const ImageInputs all = llava.process(plain_video(5, 2), 0);
  EXPECT_EQ(all.pixel_values.shape, (Shape{1, 5, 3, 4, 4}));
  EXPECT_EQ(all.pixel_values.values.at(4 * 48), 40);
  EXPECT_EQ(llava.process(plain_video(6, 2), 1).times, (std::vector<double>{0, 1, 2}));
  EXPECT_ERROR(open("video_preprocessor_config.json",
                    R"("video_processor_type": "LlavaOnevisionVideoProcessor", "fps": 1,
                       "num_frames": 3)"),
               ErrorCode::InvalidFile, "fps: num_frames is given, too");
}

TEST(ImageSizes, FollowTransformers) {
  EXPECT_EQ(smart_size({37, 53}, 28, 3136, 12845056), (Size{56, 84}));
  EXPECT_EQ(smart_size({427, 640}, 32, 65536, 16777216), (Size{416, 640}));
  EXPECT_EQ(smart_size({4000, 3000}, 28, 3136, 1003520), (Size{1148, 840}));
  EXPECT_ERROR(smart_size({1, 201}, 28, 3136, 12845056), ErrorCode::InvalidArgument,
               "a picture of 201 x 1 pixels: the ratio is above 200");
  EXPECT_EQ(target_size({427, 640}, {.shortest = 800, .longest = 1333}), (Size{800, 1199}));
  EXPECT_EQ(target_size({900, 300}, {.shortest = 800, .longest = 1333}), (Size{1333, 444}));
  EXPECT_EQ(rounded_to_even(2.5), 2);
  EXPECT_EQ(rounded_to_even(3.5), 4);
}

}  // namespace
}  // namespace pippin::image
