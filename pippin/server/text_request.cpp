#include "pippin/server/text_request.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "pippin/base/numbers/number.h"
#include "pippin/server/request_json.h"

namespace pippin::server {
namespace {

template <typename T>
void take(std::optional<T>& option, const std::optional<T>& given) {
  if (given) option = given;
}

void take(const RequestFields& body, std::optional<double>& option, std::string_view name) {
  take(option, find_number(body, name));
}
void take(const RequestFields& body, std::optional<int64_t>& option, std::string_view name) {
  // In other servers -1 means "all" or "off", which is 0 here.
  if (const auto value = find_int(body, name, -1)) option = std::max<int64_t>(*value, 0);
}

// Reads {"50256": -100}, or a list of pairs [50256, -100]; false bans a token.
std::map<int32_t, double> read_biases(const RequestFields& body) {
  std::map<int32_t, double> biases;
  const auto value = body.find("logit_bias");
  if (!value) return biases;
  const auto bias_of = [](const Json& number) {
    if (number.is_bool() && !number.as_bool()) return -double{INFINITY};
    const double bias = number.as_float();
    // OpenAI's -100 bans a token, and 100 forces it.
    return bias <= -100 ? -double{INFINITY} : bias;
  };
  if (value->is_array()) {
    for (const Json& pair : value->elements()) {
      if (!pair.is_array() || pair.size() != 2) pair.invalid("expected a token and its bias");
      const auto id = pair.at(size_t{0}).as_int(0, std::numeric_limits<int32_t>::max());
      biases[static_cast<int32_t>(id)] = bias_of(pair.at(size_t{1}));
    }
    return biases;
  }
  for (const auto& [key, number] : value->members()) {
    int32_t id = 0;
    if (!parse_number(key, id) || id < 0)
      value->invalid("\"" + std::string(key) + "\" is not a token");
    biases[id] = bias_of(number);
  }
  return biases;
}

// Only version 2 is implemented.
void read_mirostat(const RequestFields& body, app::SamplingChoice& sampling) {
  constexpr double kTau = 5;
  const auto version = find_int(body, "mirostat", 0, 2);
  if (version == 0) sampling.mirostat_tau = 0;
  if (version == 1) {
    throw ApiError(400, "mirostat: there is version 2, not 1", "mirostat");
  }
  if (version == 2 && sampling.mirostat_tau.value_or(0) == 0) sampling.mirostat_tau = kTau;
}

void turn_off_penalties(app::SamplingChoice& sampling) {
  sampling.repetition_penalty = 1;
  sampling.presence_penalty = sampling.frequency_penalty = 0;
}

// The samplers of llama-server's chain: their names, letters, and how to turn each off here.
struct SamplerLink {
  std::string_view name;
  char letter;
  void (*turn_off)(app::SamplingChoice&);  // null: not supported
};
constexpr std::array<SamplerLink, 12> kLinks = {{
    {"penalties", 'e', turn_off_penalties},
    {"dry", 'd', [](app::SamplingChoice& s) { s.dry_multiplier = 0; }},
    {"top_k", 'k', [](app::SamplingChoice& s) { s.top_k = 0; }},
    {"typ_p", 'y', [](app::SamplingChoice& s) { s.typical_p = 1; }},
    {"typical_p", 'y', [](app::SamplingChoice& s) { s.typical_p = 1; }},
    {"top_p", 'p', [](app::SamplingChoice& s) { s.top_p = 1; }},
    {"min_p", 'm', [](app::SamplingChoice& s) { s.min_p = 0; }},
    {"xtc", 'x', [](app::SamplingChoice& s) { s.xtc_probability = 0; }},
    {"temperature", 't', [](app::SamplingChoice& s) { s.temperature = 1; }},
    {"top_n_sigma", 's', nullptr},
    {"adaptive_p", 'a', nullptr},
    {"infill", 'i', nullptr},
}};

// Turns off the samplers that are not in the list. Returns those that are not supported.
std::vector<std::string> keep_samplers(const std::vector<std::string>& names,
                                       app::SamplingChoice& sampling) {
  std::set<char> kept;
  std::vector<std::string> absent;
  for (const std::string& name : names) {
    // A single text may consist of letters.
    const bool are_letters = names.size() == 1 && std::none_of(kLinks.begin(), kLinks.end(),
                                                               [&](const SamplerLink& link) {
                                                                 return link.name == name;
                                                               });
    for (size_t i = 0; i < (are_letters ? name.size() : 1); ++i) {
      const auto* const link =
          std::find_if(kLinks.begin(), kLinks.end(), [&](const SamplerLink& one) {
            return are_letters ? one.letter == name[i] : one.name == name;
          });
      if (link == kLinks.end()) {
        throw ApiError(400, "samplers: unknown sampler \"" + name + "\"", "samplers");
      }
      kept.insert(link->letter);
      if (link->turn_off == nullptr) absent.push_back("samplers." + std::string(link->name));
    }
  }
  for (const SamplerLink& link : kLinks) {
    if (!kept.contains(link.letter) && link.turn_off != nullptr) link.turn_off(sampling);
  }
  return absent;
}

std::vector<int32_t> find_tokens(const RequestFields& body, std::string_view name) {
  return read_field(body.spelling(name), [&] {
    std::vector<int32_t> ids;
    const auto value = body.find(name);
    if (!value) return ids;
    if (!value->is_array()) value->invalid("expected a list of tokens");
    for (const Json& id : value->elements()) {
      ids.push_back(static_cast<int32_t>(id.as_int(0, std::numeric_limits<int32_t>::max())));
    }
    return ids;
  });
}

// Reads {"type": "content", "content": "..."}, or text parts as content.
std::string read_prediction(const RequestFields& body) {
  std::string text;
  const auto prediction = body.find("prediction");
  if (!prediction) return text;
  const Json content = prediction->at("content");
  if (!content.is_array()) return std::string(content.as_string());
  for (const Json& part : content.elements()) text += part.get_string("text");
  return text;
}

}  // namespace

void read_sampling(const RequestFields& body, app::SamplingChoice& sampling,
                   std::vector<std::string>* unheeded) {
  for (const runtime::SamplingOption& known : runtime::sampling_options()) {
    std::visit([&](const auto& of) { take(body, sampling.*of.given, known.name); }, known.member);
  }
  if (!find_bool(body, "do_sample").value_or(true)) sampling.temperature = 0;
  if (body.has("dry_sequence_breakers")) {
    sampling.dry_breakers = find_strings(body, "dry_sequence_breakers", kMaxStops);
  }
  read_mirostat(body, sampling);
  // 0 means none of these tokens in llama-server, and all of them here.
  if (find_int(body, "penalty_last_n") == 0) turn_off_penalties(sampling);
  if (find_int(body, "dry_last_n") == 0) sampling.dry_multiplier = 0;
  if (body.has("samplers")) {
    const auto unknown = keep_samplers(find_strings(body, "samplers", kMaxStops), sampling);
    if (unheeded != nullptr) unheeded->insert(unheeded->end(), unknown.begin(), unknown.end());
  }
  sampling.logit_bias = read_field("logit_bias", [&] { return read_biases(body); });
  // Any int64 is a seed; in other servers -1 means none.
  if (const auto seed = find_int(body, "seed"); seed && *seed != -1) {
    sampling.seed = static_cast<uint64_t>(*seed);
  }
  try {
    sampling.check();
  } catch (const Error& error) {
    throw sampling_error(error);
  }
}

ApiError sampling_error(const Error& error) {
  const std::string message = error.what();
  std::string param = message.substr(0, message.find_first_of(" :"));
  std::replace(param.begin(), param.end(), '-', '_');
  return {400, message, param};
}

int64_t read_thinking_budget(const RequestFields& body) {
  const auto within = [&](const char* object, const char* member) -> std::optional<int64_t> {
    const auto value = body.find(object);
    if (!value || !value->is_object()) return std::nullopt;
    return find_int(*value, member, -1);
  };
  int64_t budget = within("thinking", "budget_tokens").value_or(-1);
  budget = within("reasoning", "max_tokens").value_or(budget);
  return find_int(body, "thinking_token_budget", -1).value_or(budget);
}

void refuse_with_form(const RequestFields& body, const TextRequest& request) {
  if (!request.form) return;
  for (const char* name : {"min_tokens", "allowed_token_ids"}) {
    const auto value = body.find(name);
    if (!value || (value->is_integer() && value->as_int() == 0)) continue;
    throw ApiError(400,
                   body.spelling(name) + ": the answer's form is given by " + request.form->param,
                   body.spelling(name));
  }
}

TextRequest read_text_request(const RequestFields& body) {
  TextRequest request;
  request.model = find_string(body, "model").value_or("");
  read_sampling(body, request.sampling, &request.unheeded);
  request.choices = find_int(body, "n", 1, kMaxChoices).value_or(1);
  const int64_t best_of = find_int(body, "best_of", 1, kMaxChoices).value_or(request.choices);
  if (best_of != request.choices) {
    throw ApiError(400, "best_of: only as many as n are made", "best_of");
  }
  request.max_tokens = std::max<int64_t>(find_int(body, "max_tokens", -2).value_or(-1), -1);
  request.min_tokens = find_int(body, "min_tokens", 0).value_or(0);
  request.stop = find_strings(body, "stop", kMaxStops);
  std::erase(request.stop, "");
  request.keeps_stop = find_bool(body, "include_stop_str_in_output").value_or(false);
  request.stop_tokens = find_tokens(body, "stop_token_ids");
  request.allowed_tokens = find_tokens(body, "allowed_token_ids");
  if (body.has("allowed_token_ids") && request.allowed_tokens.empty()) {
    throw ApiError(400, "allowed_token_ids: no token in the list", "allowed_token_ids");
  }
  request.banned_texts = find_strings(body, "bad_words", kMaxStops);
  std::erase(request.banned_texts, "");
  request.ignore_end = find_bool(body, "ignore_eos").value_or(false);
  request.max_drafts = find_int(body, "draft_max", 0).value_or(-1);
  request.adapters = read_adapters(body);
  request.prediction = read_field("prediction", [&] { return read_prediction(body); });
  request.streams = find_bool(body, "stream").value_or(false);
  request.with_progress = find_bool(body, "return_progress").value_or(false);
  request.prompt_logprobs = find_int(body, "prompt_logprobs", 0, kMaxTopLogprobs).value_or(-1);
  request.prompt_tokens = find_int(body, "truncate_prompt_tokens", -1).value_or(0);
  request.thinking_budget = read_thinking_budget(body);
  read_field("stream_options", [&] {
    if (const auto options = body.find("stream_options")) {
      if (!options->is_object()) options->invalid("expected an object");
      request.with_usage = options->find_bool("include_usage").value_or(false);
    }
    return 0;
  });
  request.form = read_form(body);
  refuse_with_form(body, request);
  return request;
}

}  // namespace pippin::server
