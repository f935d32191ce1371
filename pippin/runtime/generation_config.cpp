#include "pippin/runtime/generation_config.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "pippin/base/log.h"
#include "pippin/io/json.h"

namespace pippin::runtime {
namespace {

std::optional<Json> load_if_there(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  return Json::load(path, kPythonJson);
}

std::vector<int32_t> to_ids(const Json& list) {
  std::vector<int32_t> ids;
  for (const Json& one : list.elements()) {
    ids.push_back(static_cast<int32_t>(one.as_int(-1, std::numeric_limits<int32_t>::max())));
  }
  return ids;
}

std::vector<int32_t> ids_of(const Json& config, std::string_view key) {
  const auto list = config.find(key);
  return list ? to_ids(*list) : std::vector<int32_t>();
}

void add_id(std::vector<int32_t>& ids, int64_t id) {
  const auto value = static_cast<int32_t>(id);
  if (std::find(ids.begin(), ids.end(), value) == ids.end()) ids.push_back(value);
}

// eos_token_id: a number or a list of them.
void add_end_ids(std::vector<int32_t>& ids, const Json& config) {
  const auto value = config.find("eos_token_id");
  if (!value) return;
  constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
  if (value->is_array()) {
    for (const Json& element : value->elements()) add_id(ids, element.as_int(-1, kLargest));
  } else {
    add_id(ids, value->as_int(-1, kLargest));
  }
}

// eos_token: a string, or an added token with its content.
void add_end_token(std::vector<int32_t>& ids, const Json& config, const Tokenizer& tokenizer) {
  const auto value = config.find("eos_token");
  if (!value) return;
  const std::string token =
      value->is_object() ? value->get_string("content") : std::string(value->as_string());
  if (const auto id = tokenizer.token_to_id(token)) add_id(ids, *id);
}

SamplingOptions read_sampling(const Json& config) {
  SamplingOptions sampling;
  sampling.repetition_penalty = config.get_float_or("repetition_penalty", 1);
  if (config.get_bool_or("do_sample", false)) {
    sampling.temperature = config.get_float_or("temperature", 1);
    sampling.top_k = config.get_int_or("top_k", 50);
    sampling.top_p = config.get_float_or("top_p", 1);
    sampling.min_p = config.get_float_or("min_p", 0);
    sampling.typical_p = config.get_float_or("typical_p", 1);
  }
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const auto count = [&](std::string_view key) {
    return config.has(key) ? config.get_int_between(key, 0, kMost) : 0;
  };
  sampling.no_repeat_ngram = count("no_repeat_ngram_size");
  sampling.min_tokens = count("min_new_tokens");
  sampling.min_length = count("min_length");
  sampling.suppressed = ids_of(config, "suppress_tokens");
  sampling.suppressed_first = ids_of(config, "begin_suppress_tokens");
  if (const auto words = config.find("bad_words_ids")) {
    for (const Json& word : words->elements()) {
      std::vector<int32_t> ids = to_ids(word);
      if (ids.empty()) word.invalid("no tokens");
      sampling.bad_words.push_back(std::move(ids));
    }
  }
  return sampling;
}

std::vector<std::string> stop_strings_of(const Json& config) {
  const auto value = config.find("stop_strings");
  if (!value) return {};
  if (value->is_string()) return {std::string(value->as_string())};
  return value->as_strings();
}

// Settings of transformers' generate that change the text, with the values that disable them.
void warn_of_others(const Json& config) {
  constexpr std::pair<std::string_view, double> kOthers[] = {
      {"num_beams", 1},
      {"penalty_alpha", 0},
      {"encoder_repetition_penalty", 1},
      {"encoder_no_repeat_ngram_size", 0},
      {"sequence_bias", 0},
      {"forced_bos_token_id", -1},
      {"forced_eos_token_id", -1},
      {"forced_decoder_ids", 0},
      {"exponential_decay_length_penalty", 0},
      {"guidance_scale", 1},
      {"epsilon_cutoff", 0},
      {"eta_cutoff", 0},
      {"top_h", 0},
      {"constraints", 0},
      {"force_words_ids", 0},
      {"watermarking_config", 0},
  };
  for (const auto& [key, off] : kOthers) {
    const auto value = config.find(key);
    if (!value || (value->is_number() && value->as_float() == off)) continue;
    if ((value->is_array() || value->is_object()) && value->size() == 0) continue;
    log_warn("{}: {} is not applied", config.where(key), value->dump().substr(0, 60));
  }
}

}  // namespace

GenerationConfig read_generation_config(const std::filesystem::path& folder,
                                        const Tokenizer& tokenizer) {
  GenerationConfig result;
  if (const auto config = load_if_there(folder / "generation_config.json")) {
    add_end_ids(result.end_ids, *config);
    result.sampling = read_sampling(*config);
    result.stop_strings = stop_strings_of(*config);
    if (config->has("max_new_tokens")) {
      result.max_new_tokens =
          config->get_int_between("max_new_tokens", 0, std::numeric_limits<int32_t>::max());
    }
    warn_of_others(*config);
  }
  if (const auto config = load_if_there(folder / "config.json")) {
    add_end_ids(result.end_ids, *config);
  }
  if (const auto config = load_if_there(folder / "tokenizer_config.json")) {
    add_end_token(result.end_ids, *config, tokenizer);
  }
  result.sampling.min_tokens_ends = result.end_ids;
  return result;
}

}  // namespace pippin::runtime
