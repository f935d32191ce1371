#include "pippin/image/prompt/image_prompt.h"

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/image/prompt/prompt_rules.h"

namespace pippin::image {
namespace {

struct PromptRow {
  std::string_view processor;   // class
  std::string_view model_type;  // of models whose files do not name the class
  ReadPromptRule* read;
};
constexpr PromptRow kPrompts[] = {
    {"AyaVisionProcessor", "aya_vision", read_aya_prompt},
    {"Cohere2VisionProcessor", "cohere2_vision", read_cohere2_prompt},
    {"DeepseekOcr2Processor", "deepseek_ocr2", read_deepseek_ocr_prompt},
    {"Gemma3Processor", "gemma3", read_gemma3_prompt},
    {"Gemma3nProcessor", "gemma3n", read_gemma3n_prompt},
    {"Gemma4Processor", "gemma4", read_gemma4_prompt},
    {"Glm46VProcessor", "glm46v", read_glm46v_prompt},
    {"Glm4vProcessor", "glm4v", read_glm4v_prompt},
    {"GotOcr2Processor", "got_ocr2", read_got_ocr2_prompt},
    {"Idefics2Processor", "idefics2", read_idefics2_prompt},
    {"Idefics3Processor", "idefics3", read_idefics3_prompt},
    {"InternVLProcessor", "internvl", read_internvl_prompt},
    {"Lfm2VlProcessor", "lfm2_vl", read_lfm2_prompt},
    {"Lfm2VlProcessor", "lfm2-vl", read_lfm2_prompt},
    {"Llama4Processor", "llama4", read_llama4_prompt},
    {"LlavaNextProcessor", "llava_next", read_llava_next_prompt},
    {"LlavaOnevisionProcessor", "llava_onevision", read_llava_onevision_prompt},
    {"LlavaProcessor", "llava", read_llava_prompt},
    {"LlavaProcessor", "fast_vlm", read_llava_prompt},
    {"LlavaProcessor", "llava_qwen2", read_llava_prompt},
    {"MiniCPMV4_6Processor", "minicpmv4_6", read_minicpm_prompt},
    {"MllamaProcessor", "mllama", read_mllama_prompt},
    {"Ovis2Processor", "ovis2", read_ovis2_prompt},
    {"PaddleOCRVLProcessor", "paddleocr_vl", read_paddleocr_prompt},
    {"PaliGemmaProcessor", "paligemma", read_paligemma_prompt},
    {"PixtralProcessor", "mistral3", read_pixtral_prompt},
    {"Qwen2VLProcessor", "qwen2_vl", read_qwen2_prompt},
    {"Qwen2_5OmniProcessor", "qwen2_5_omni", read_qwen_omni_prompt},
    {"Qwen2_5_VLProcessor", "qwen2_5_vl", read_qwen2_prompt},
    {"Qwen3VLProcessor", "qwen3_vl", read_qwen3_prompt},
    {"Qwen3VLProcessor", "qwen3_vl_moe", read_qwen3_prompt},
    {"Qwen3VLProcessor", "qwen3_5", read_qwen3_prompt},
    {"Qwen3VLProcessor", "qwen3_5_moe", read_qwen3_prompt},
    {"SmolVLMProcessor", "smolvlm", read_smolvlm_prompt},
};

// An absent file is an empty object.
Json load_or_empty(const std::filesystem::path& path) {
  return std::filesystem::exists(path) ? Json::load(path, kPythonJson)
                                       : Json::parse("{}", path.filename().string());
}

// Replaces each two of `token` by one.
void merge_doubled(std::string& text, const std::string& token) {
  for (size_t at = 0; (at = text.find(token + token, at)) != text.npos; at += token.size()) {
    text.erase(at, token.size());
  }
}

void append_piece(std::vector<ImagePiece>& pieces, ImagePiece piece) {
  if (auto* text = std::get_if<std::string>(&piece)) {
    if (text->empty()) return;
    if (!pieces.empty()) {
      if (auto* last = std::get_if<std::string>(&pieces.back())) {
        *last += *text;
        return;
      }
    }
  }
  pieces.push_back(std::move(piece));
}

}  // namespace

int64_t PromptSettings::number(std::string_view key, int64_t fallback) const {
  const auto found = processor.find(key);
  return found ? found->as_int(0, 1 << 20) : fallback;
}

int64_t PromptSettings::image_number(std::string_view key, int64_t fallback) const {
  const auto found = image_processor.find(key);
  return found ? found->as_int(1, 1 << 20) : fallback;
}

int64_t PromptSettings::image_side(std::string_view key, int64_t fallback) const {
  const auto found = image_processor.find(key);
  if (!found) return fallback;
  if (found->is_integer()) return found->as_int(1, 1 << 20);
  for (std::string_view name : {"height", "shortest_edge", "longest_edge"}) {
    if (const auto side = found->find(name)) return side->as_int(1, INT32_MAX);
  }
  found->invalid("expected a height or an edge");
}

std::string PromptSettings::text(std::string_view key, std::string_view fallback) const {
  return processor.get_string_or(key, fallback);
}

int64_t output_number(const ImageInputs& inputs, const std::string& name, size_t index) {
  const auto found = inputs.sizes.find(name);
  if (found == inputs.sizes.end() || found->second.values.size() <= index) {
    fail(ErrorCode::InvalidArgument, "the inputs of an image have no number {} of '{}'", index,
         name);
  }
  return found->second.values[index];
}

ImagePrompt ImagePrompt::parse(const std::string& processor_class, const Json& processor,
                               const Json& image_processor) {
  std::vector<std::string_view> known;
  known.reserve(std::size(kPrompts));
  for (const PromptRow& row : kPrompts) {
    if (known.empty() || known.back() != row.processor) known.push_back(row.processor);
    if (row.processor != processor_class) continue;
    PromptRule rule = row.read({processor, image_processor});
    ImagePrompt prompt;
    prompt.placeholder_ = std::move(rule.placeholder);
    prompt.row_token_ = std::move(rule.row_token);
    prompt.video_placeholder_ = std::move(rule.video_placeholder);
    prompt.row_token_is_optional_ = rule.row_token_is_optional;
    prompt.expand_ = std::move(rule.expand);
    prompt.expand_video_ = std::move(rule.expand_video);
    prompt.written_once_ = std::move(rule.written_once);
    prompt.writes_special_tokens_ = rule.writes_special_tokens;
    prompt.text_begin_ = std::move(rule.text_begin);
    prompt.text_end_ = std::move(rule.text_end);
    return prompt;
  }
  fail(ErrorCode::Unsupported, "images in prompts of a '{}' are not supported (supported: {})",
       processor_class, fmt::join(known, ", "));
}

ImagePrompt ImagePrompt::open(const std::filesystem::path& folder) {
  const Json processor = load_or_empty(folder / "processor_config.json");
  Json image_processor = load_or_empty(folder / "preprocessor_config.json");
  if (const auto own = processor.find("image_processor")) image_processor = *own;
  for (const Json& json : {processor, image_processor}) {
    if (const auto name = json.find_string("processor_class")) {
      return parse(*name, processor, image_processor);
    }
  }
  const Json config = Json::load(folder / "config.json", kPythonJson);
  const std::string model_type = config.get_string("model_type");
  for (const PromptRow& row : kPrompts) {
    if (row.model_type == model_type) {
      return parse(std::string(row.processor), processor, image_processor);
    }
  }
  fail(ErrorCode::Unsupported, "{}: images in prompts of '{}' are not supported",
       config.where("model_type"), model_type);
}

std::string ImagePrompt::framed(std::string_view text, size_t images, size_t videos) const {
  std::string result;
  if (!next_place(text).placeholder) {
    for (size_t i = 0; i < images; ++i) result += placeholder_;
    for (size_t i = 0; i < videos; ++i) result += video_placeholder_;
    result += text_begin_;
  }
  result += text;
  result += text_end_;
  return result;
}

std::vector<ImagePiece> ImagePrompt::expand(const ImageInputs& inputs, int64_t index) const {
  if (!inputs.is_video()) return expand_(inputs, index);
  if (!expand_video_) fail(ErrorCode::Unsupported, "videos are not supported for this model");
  return expand_video_(inputs, index);
}

ImagePrompt::Place ImagePrompt::next_place(std::string_view text) const {
  const size_t image = text.find(placeholder_);
  const size_t video =
      video_placeholder_.empty() ? std::string_view::npos : text.find(video_placeholder_);
  if (image == std::string_view::npos && video == std::string_view::npos) return {image, nullptr};
  return image < video ? Place{image, &placeholder_} : Place{video, &video_placeholder_};
}

std::vector<ImagePiece> ImagePrompt::expand_text(std::string_view text,
                                                 std::span<const ImageInputs> images) const {
  std::vector<ImagePiece> pieces;
  size_t used = 0;
  for (;;) {
    const Place place = next_place(text);
    append_piece(pieces, std::string(text.substr(0, place.at)));
    if (place.placeholder == nullptr) break;
    if (used < images.size()) {
      const bool video = place.placeholder == &video_placeholder_;
      if (images[used].is_video() != video) {
        fail(ErrorCode::InvalidArgument, "placeholder {} of the prompt, '{}', stands for {}", used,
             *place.placeholder, video ? "a video, not an image" : "an image, not a video");
      }
      for (ImagePiece& piece : expand(images[used], static_cast<int64_t>(used))) {
        append_piece(pieces, std::move(piece));
      }
    }
    ++used;
    text.remove_prefix(place.at + place.placeholder->size());
  }
  if (used != images.size()) {
    fail(ErrorCode::InvalidArgument, "the prompt has {} placeholders '{}' for {} images", used,
         placeholder_, images.size());
  }
  for (ImagePiece& piece : pieces) {
    auto* const words = std::get_if<std::string>(&piece);
    if (words != nullptr && !written_once_.empty()) merge_doubled(*words, written_once_);
  }
  return pieces;
}

}  // namespace pippin::image
