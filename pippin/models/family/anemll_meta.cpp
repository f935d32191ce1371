// meta.yaml: the file that ANEMLL's runners read first.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/families/anemll.h"
#include "pippin/io/json.h"
#include "pippin/models/family/anemll.h"

namespace pippin::models {
namespace {

namespace anemll = families::anemll;

// JSON's strings are YAML's double-quoted ones.
std::string quoted(const std::string& text) {
  JsonWriter writer;
  writer.value(text);
  return writer.text();
}

std::string bits(const PartPalette& palette) {
  return palette.bits > 0 ? std::to_string(palette.bits) : anemll::meta::kNone;
}

std::string flag(bool value) {
  return value ? "true" : "false";
}

std::string short_name(const std::string& name) {
  const size_t slash = name.rfind('/');
  return slash == name.npos ? name : name.substr(slash + 1);
}

}  // namespace

std::string recommended_sampling(const std::filesystem::path& hf_folder) {
  const auto path = hf_folder / "generation_config.json";
  if (!std::filesystem::is_regular_file(path)) return "";
  const Json config = Json::load(path, kPythonJson);
  std::string text;
  for (const char* key : {"do_sample", "temperature", "top_k", "top_p"}) {
    const auto value = config.find(key);
    if (!value || value->is_null()) continue;
    text += fmt::format("      {}: {}\n", key, value->dump());
  }
  return text;
}

std::string Anemll::meta_yaml(int64_t num_chunks) const {
  const std::string ffn = stem(anemll::kChunksPart, options_.ffn);
  std::string text = fmt::format("{}:\n", anemll::meta::kInfo);
  const auto line = [&](std::string_view key, const std::string& value) {
    text += fmt::format("  {}: {}\n", key, value);
  };
  const auto parameter = [&](std::string_view key, const std::string& value) {
    text += fmt::format("    {}: {}\n", key, value);
  };
  const std::string name = short_name(description_.name);
  line("name", quoted(fmt::format("anemll-{}-ctx{}", name, options_.context)));
  line("version", quoted(PIPPIN_VERSION));
  line("description",
       quoted(fmt::format("{} for the Neural Engine: context {}, batch {}, {} chunk{}", name,
                          options_.context, options_.batch, num_chunks,
                          num_chunks == 1 ? "" : "s")));
  line("license", quoted("see the model's own"));
  line("author", quoted("Pippin"));
  line("framework", quoted("Core ML"));
  line("language", quoted("C++"));
  line("architecture", quoted(description_.model_type));
  text += fmt::format("  {}:\n", anemll::meta::kParameters);
  parameter(anemll::meta::kContext, std::to_string(options_.context));
  parameter(anemll::meta::kBatch, std::to_string(options_.batch));
  parameter("lut_embeddings", bits(options_.embeddings));
  parameter("lut_ffn", bits(options_.ffn));
  parameter("lut_lmhead", bits(options_.head));
  const std::pair<const char*, const PartPalette*> palettes[] = {
      {"lut_embeddings_per_channel", &options_.embeddings},
      {"lut_ffn_per_channel", &options_.ffn},
      {"lut_lmhead_per_channel", &options_.head}};
  for (const auto& [key, palette] : palettes) {
    if (palette->bits > 0) parameter(key, std::to_string(palette->group));
  }
  parameter(anemll::meta::kNumChunks, std::to_string(num_chunks));
  parameter(anemll::meta::kPrefix, quoted(options_.prefix));
  parameter(anemll::meta::kEmbeddings, quoted(stem(anemll::kEmbeddingsPart, options_.embeddings)));
  parameter(anemll::meta::kHead, quoted(stem(anemll::kHeadPart, options_.head)));
  parameter(anemll::meta::kChunks, quoted(ffn));
  parameter(anemll::meta::kPrefillChunks, quoted(ffn));
  parameter(anemll::meta::kSplitHead, std::to_string(head_sizes_.size()));
  parameter(anemll::meta::kArgmax, flag(options_.argmax_in_model));
  parameter(anemll::meta::kVocabulary, std::to_string(description_.decoder.vocab_size));
  parameter(anemll::meta::kHeadSizes, fmt::format("[{}]", fmt::join(head_sizes_, ", ")));
  parameter("split_rotate", "false");  // all functions of a chunk are in one package
  if (rotates()) parameter(anemll::meta::kSlidingWindow, std::to_string(cache_.window));
  parameter("single_cache", flag(!rotates()));
  // A batch is written to the slots from current_pos on, so that it may start anywhere.
  parameter(anemll::meta::kUpdateMaskPrefill, "false");
  parameter(anemll::meta::kDynamicSlicePrefill, "true");
  parameter("state_length", std::to_string(options_.context));
  if (!sampling_.empty()) text += fmt::format("    {}:\n{}", anemll::meta::kSampling, sampling_);
  text += fmt::format("# Converted by Pippin {} from {} ({})\n", PIPPIN_VERSION, name,
                      description_.class_name);
  text += fmt::format("# --context {} --batch {} --chunks {} --prefix {}{}\n", options_.context,
                      options_.batch, num_chunks, options_.prefix,
                      options_.argmax_in_model ? " --argmax-in-model" : "");
  return text;
}

}  // namespace pippin::models
