#include "tests/gguf_tower_models.h"

#include <memory>

#include <fmt/format.h>

#include "pippin/app/open/open_model.h"
#include "pippin/app/open/vision_model.h"
#include "pippin/app/prompt_tokens.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/image/model_picture.h"
#include "pippin/image/processors/image_processor.h"
#include "pippin/runtime/sequence.h"

namespace pippin::testing_gguf {
namespace {

std::string noise(int64_t width, int64_t height) {
  std::string pixels = fmt::format("P6 {} {} 255\n", width, height);
  for (int64_t i = 0; i < width * height * 3; ++i) pixels += static_cast<char>(i * 37 % 256);
  return pixels;
}

std::vector<float> logits_after(const runtime::LoadedModel& model,
                                const std::vector<runtime::ImageFile>& images) {
  const runtime::VisionPrompt prompt = app::text_prompt(model, "abc", false, images);
  const auto sequence = model.model->new_sequence();
  for (const auto& rows : prompt.rows) sequence->provide(rows);
  const auto last = sequence->prefill(prompt.ids);
  return {last.begin(), last.end()};
}

}  // namespace

runtime::LoadedModel open_with_tower(const std::filesystem::path& model, const std::string& mmproj,
                                     const std::filesystem::path& tokenizer) {
  app::ModelChoice choice{model.string(), tokenizer.string(), {}};
  choice.load.threads = 1;
  choice.load.compute.precision = engine::Precision::Exact;
  choice.load.mmproj = mmproj;
  return app::open_model(choice);
}

std::vector<float> picture_logits(const runtime::LoadedModel& model) {
  const std::string pixels = noise(16, 16);
  return logits_after(model, {{as_byte_span(pixels), "noise.ppm"}});
}

std::vector<float> text_logits(const runtime::LoadedModel& model) {
  return logits_after(model, {});
}

image::ImageInputs picture_inputs(const std::filesystem::path& folder, int64_t width,
                                  int64_t height) {
  const std::string pixels = noise(width, height);
  return image::ImageProcessor::open(folder).process(
      image::parse_model_picture(as_byte_span(pixels), "noise.ppm"));
}

std::vector<float> tower_rows(const std::filesystem::path& folder,
                              const image::ImageInputs& inputs) {
  const auto tower = app::open_vision_tower(folder, std::make_shared<ThreadPool>(1));
  std::vector<float> rows;
  for (const auto& run : tower->encode(inputs)) {
    rows.insert(rows.end(), run->values.begin(), run->values.end());
  }
  return rows;
}

}  // namespace pippin::testing_gguf
