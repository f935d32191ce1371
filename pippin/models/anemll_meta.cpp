// meta.yaml: what ANEMLL's runners read first.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/io/json.h"
#include "pippin/models/anemll.h"

namespace pippin::models {
namespace {

// JSON's strings are YAML's double-quoted ones.
std::string quoted(const std::string& text) {
  JsonWriter writer;
  writer.value(text);
  return writer.text();
}

std::string bits(const PartPalette& palette) {
  return palette.bits > 0 ? std::to_string(palette.bits) : "none";
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
  const Json config = Json::load(path);
  std::string text;
  for (const char* key : {"do_sample", "temperature", "top_k", "top_p"}) {
    const auto value = config.find(key);
    if (!value || value->is_null()) continue;
    text += fmt::format("      {}: {}\n", key, value->dump());
  }
  return text;
}

std::string Anemll::meta_yaml(int64_t num_chunks) const {
  const std::string ffn = stem("FFN_PF", options_.ffn);
  std::string text = "model_info:\n";
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
  text += "  parameters:\n";
  parameter("context_length", std::to_string(options_.context));
  parameter("batch_size", std::to_string(options_.batch));
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
  parameter("num_chunks", std::to_string(num_chunks));
  parameter("model_prefix", quoted(options_.prefix));
  parameter("embeddings", quoted(stem("embeddings", options_.embeddings)));
  parameter("lm_head", quoted(stem("lm_head", options_.head)));
  parameter("ffn", quoted(ffn));
  parameter("pf", quoted(ffn));
  parameter("split_lm_head", std::to_string(head_sizes_.size()));
  parameter("argmax_in_model", flag(options_.argmax_in_model));
  parameter("vocab_size", std::to_string(description_.decoder.vocab_size));
  parameter("lm_head_chunk_sizes", fmt::format("[{}]", fmt::join(head_sizes_, ", ")));
  parameter("split_rotate", "false");  // all functions of a chunk are in one package
  if (rotates()) parameter("sliding_window", std::to_string(cache_.window));
  parameter("single_cache", flag(!rotates()));
  // A batch is written to the slots from current_pos on, so that it may start anywhere.
  parameter("update_mask_prefill", "false");
  parameter("prefill_dynamic_slice", "true");
  parameter("state_length", std::to_string(options_.context));
  if (!sampling_.empty()) text += "    recommended_sampling:\n" + sampling_;
  text += fmt::format("# Converted by Pippin {} from {} ({})\n", PIPPIN_VERSION, name,
                      description_.class_name);
  text += fmt::format("# --context {} --batch {} --chunks {} --prefix {}{}\n", options_.context,
                      options_.batch, num_chunks, options_.prefix,
                      options_.argmax_in_model ? " --argmax-in-model" : "");
  return text;
}

}  // namespace pippin::models
