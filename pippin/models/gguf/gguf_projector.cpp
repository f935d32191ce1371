#include "pippin/models/gguf/gguf_projector.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/models/gguf/gguf.h"

namespace pippin::models {
namespace {

constexpr int64_t kMostPerSide = 1 << 16;

const GgufProjector& projector_of(const GgufMetadata& metadata) {
  if (metadata.text("general.architecture") != "clip") {
    metadata.unsupported("general.architecture",
                         fmt::format("'{}' is not a vision tower's (clip)",
                                     metadata.text("general.architecture").value_or("")));
  }
  if (!metadata.flag("clip.has_vision_encoder").value_or(false)) {
    metadata.unsupported("clip.has_vision_encoder", "the file has no vision tower");
  }
  // Files with a tower for sound too have a type for each.
  std::string key = "clip.vision.projector_type";
  if (metadata.find(key) == nullptr) key = "clip.projector_type";
  const std::string type = metadata.text(key).value_or("mlp");
  const GgufProjector* const found = find_projector(type);
  if (found == nullptr) {
    std::vector<std::string_view> known;
    known.reserve(gguf_projectors().size());
    for (const GgufProjector& one : gguf_projectors()) known.push_back(one.name);
    metadata.unsupported(key, fmt::format("'{}' is not supported (supported: {})",
                                          type.substr(0, 60), fmt::join(known, ", ")));
  }
  return *found;
}

// Of the language model that a tower was trained with.
void check_language(const GgufProjector& row, const GgufMetadata& tower, ProjectorFiles& files,
                    const std::string& name) {
  const auto& fitting = row.languages;
  if (!fitting.empty() &&
      std::find(fitting.begin(), fitting.end(), files.language) == fitting.end()) {
    tower.invalid(fmt::format("projector '{}'", row.name),
                  fmt::format("belongs to language models of {}, {} is '{}'",
                              fmt::join(fitting, ", "), name, files.language.substr(0, 60)));
  }
  const GgufTensor* const last = tower.tensor(fmt::format("{}.weight", row.last));
  if (last == nullptr || last->shape.size() != 2) {
    tower.invalid(fmt::format("{}.weight", row.last), "no such matrix");
  }
  // Gemma 3's has its outputs as columns.
  const int64_t width = row.name == "gemma3" ? last->shape[1] : last->shape[0];
  if (width != files.text_width) {
    tower.invalid(last->name,
                  fmt::format("gives rows of {} numbers, {} takes {}: the file is of another model",
                              width, name, files.text_width));
  }
}

// The members that all image processors have.
void write_image(const GgufMetadata& tower, JsonMembers& image) {
  for (const char* const member : {"image_mean", "image_std"}) {
    const std::string key = fmt::format("clip.vision.{}", member);
    if (const auto json = tower.json(key)) image.set_json(member, *json);
  }
}

// Positions with three coordinates, where the language model has them; the fourth is not used.
void write_sections(const GgufMetadata& words, const Json& text_config, ProjectorFiles& files) {
  const std::string key = fmt::format("{}.rope.dimension_sections", files.language);
  const std::vector<double> all = words.numbers(key);
  if (all.empty()) return;
  if (all.size() < 3) words.invalid(key, fmt::format("{} numbers, 3 are needed", all.size()));
  std::vector<int64_t> sections;
  for (size_t i = 0; i < 3; ++i) sections.push_back(words.checked_size(key, all[i]));
  JsonMembers rope;
  rope.set("rope_type", "default");
  if (const auto scaling = text_config.find("rope_scaling"); scaling && scaling->is_object()) {
    for (const auto& [member, value] : scaling->members()) rope.set_json(member, value.dump());
  }
  rope.set("mrope_section", sections);
  files.text.set_json("rope_scaling", rope.text());
}

}  // namespace

int64_t ProjectorFiles::side(std::string_view key) const {
  const int64_t value = keys.required_size(key);
  if (value < 1 || value > kMostPerSide) {
    keys.metadata().invalid(keys.full(key),
                            fmt::format("{} is not between 1 and {}", value, kMostPerSide));
  }
  return value;
}

int64_t ProjectorFiles::side(std::string_view key, int64_t fallback) const {
  return keys.has_key(key) ? side(key) : fallback;
}

int64_t ProjectorFiles::write_tower(std::string_view activation) {
  const int64_t pixels = side("image_size"), patch = side("patch_size");
  vision.set("image_size", pixels);
  vision.set("patch_size", patch);
  vision.set("hidden_size", side("embedding_length"));
  vision.set("intermediate_size", keys.required_size("feed_forward_length"));
  vision.set("num_hidden_layers", side("block_count"));
  vision.set("num_attention_heads", side("attention.head_count"));
  vision.set("layer_norm_eps", keys.required_number("attention.layer_norm_epsilon"));
  vision.set("hidden_act", activation);
  return pixels / patch;
}

void ProjectorFiles::write_side_of_positions() {
  const auto positions = static_cast<double>(rows("v.position_embd.weight"));
  vision.set("image_size", static_cast<int64_t>(std::sqrt(positions)) * side("patch_size"));
}

void ProjectorFiles::write_square() {
  image.set_json("size", fmt::format(R"({{"height": {0}, "width": {0}}})", side("image_size")));
}

std::string_view ProjectorFiles::activation(std::string_view fallback) const {
  const GgufMetadata& metadata = keys.metadata();
  if (metadata.flag("clip.use_silu").value_or(false)) return "silu";
  return metadata.flag("clip.use_gelu").value_or(false) ? "gelu" : fallback;
}

int64_t ProjectorFiles::rows(std::string_view tensor) const {
  const GgufTensor* const found = keys.metadata().tensor(tensor);
  if (found == nullptr || found->shape.empty()) keys.metadata().invalid(tensor, "no such tensor");
  return found->shape[0];
}

const std::vector<int64_t>& ProjectorFiles::sizes(std::string_view tensor, size_t rank) const {
  const GgufTensor* const found = keys.metadata().tensor(tensor);
  if (found == nullptr || found->shape.size() != rank) {
    keys.metadata().invalid(tensor, fmt::format("no such tensor of {} axes", rank));
  }
  return found->shape;
}

GgufVisionConfig gguf_vision_config(const NamedGguf& language, const std::string& text,
                                    const NamedGguf& projector) {
  const GgufMetadata words(language.content, language.name);
  const GgufMetadata tower(projector.content, projector.name);
  const GgufProjector& row = projector_of(tower);
  const Json text_config = Json::parse(text, language.name);
  const std::string architecture = text_config.get_string_or(kGgufKey, "");
  const GgufKeys keys(tower, "clip.vision");
  ProjectorFiles files{keys, architecture, text_config.get_int_or("hidden_size", 0)};
  check_language(row, tower, files, language.name);

  files.config.set("architectures", std::vector<std::string>{std::string(row.class_name)});
  files.config.set("model_type", row.model_type);
  files.config.set(kGgufProjector, row.name);
  for (const auto& [member, value] : text_config.members()) {
    files.text.set_json(member, value.dump());
    // The decoder's names and layouts are read from the whole configuration.
    const bool is_shared =
        member.starts_with("gguf_") || member == "tie_word_embeddings" || member == "torch_dtype";
    if (is_shared) files.config.set_json(member, value.dump());
  }
  write_sections(words, text_config, files);
  const std::vector<std::string_view> tokens = words.texts("tokenizer.ggml.tokens");
  const auto token = std::find(tokens.begin(), tokens.end(), row.row_token);
  if (token != tokens.end()) files.config.set("image_token_id", token - tokens.begin());
  write_image(tower, files.image);
  files.image.set("image_processor_type", row.image_processor);
  files.processor.set("processor_class", row.processor);
  row.write(files);

  files.config.set_json("text_config", files.text.text());
  files.config.set_json("vision_config", files.vision.text());
  files.processor.set_json("image_processor", files.image.text());
  return {files.config.text(), files.processor.text()};
}

const std::vector<GgufProjector>& gguf_projectors() {
  static const std::vector<GgufProjector> rows = [] {
    std::vector<GgufProjector> all = gguf_tile_projectors();
    for (const auto& further : {gguf_patch_projectors, gguf_other_projectors}) {
      auto part = further();
      std::move(part.begin(), part.end(), std::back_inserter(all));
    }
    return all;
  }();
  return rows;
}

const GgufProjector* find_projector(std::string_view name) {
  const auto& all = gguf_projectors();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const GgufProjector& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace pippin::models
