#include "pippin/runtime/generation_config.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "pippin/io/json.h"

namespace pippin::runtime {
namespace {

std::optional<Json> load_if_there(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  return Json::load(path, kPythonJson);
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
  return sampling;
}

}  // namespace

GenerationConfig read_generation_config(const std::filesystem::path& folder,
                                        const Tokenizer& tokenizer) {
  GenerationConfig result;
  if (const auto config = load_if_there(folder / "generation_config.json")) {
    add_end_ids(result.end_ids, *config);
    result.sampling = read_sampling(*config);
  }
  if (const auto config = load_if_there(folder / "config.json")) {
    add_end_ids(result.end_ids, *config);
  }
  if (const auto config = load_if_there(folder / "tokenizer_config.json")) {
    add_end_token(result.end_ids, *config, tokenizer);
  }
  return result;
}

}  // namespace pippin::runtime
