#include "pippin/server/text_request.h"

#include <algorithm>
#include <cmath>

#include "pippin/base/number.h"
#include "pippin/server/request_json.h"

namespace pippin::server {
namespace {

template <typename T>
void take(std::optional<T>& option, const std::optional<T>& given) {
  if (given) option = given;
}

// Other servers' spellings come second.
void take_number(const Json& body, std::optional<double>& option,
                 std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) take(option, find_number(body, name));
}
void take_int(const Json& body, std::optional<int64_t>& option,
              std::initializer_list<std::string_view> names) {
  // -1 is "all" or "off" elsewhere, which is 0 here.
  for (const std::string_view name : names) {
    if (const auto value = find_int(body, name, -1)) option = std::max<int64_t>(*value, 0);
  }
}

// {"50256": -100}, or a list of pairs [50256, -100]; false: never.
std::map<int32_t, double> read_biases(const Json& body) {
  std::map<int32_t, double> biases;
  const auto value = body.find("logit_bias");
  if (!value) return biases;
  const auto bias_of = [](const Json& number) {
    if (number.is_bool() && !number.as_bool()) return -double{INFINITY};
    const double bias = number.as_float();
    // OpenAI: -100 and 100 ban a token and choose it for sure.
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
      value->invalid("\"" + std::string(key) + "\" is no token");
    biases[id] = bias_of(number);
  }
  return biases;
}

// {"type": "content", "content": "..."}, or text parts as content.
std::string read_prediction(const Json& body) {
  std::string text;
  const auto prediction = body.find("prediction");
  if (!prediction) return text;
  const Json content = prediction->at("content");
  if (!content.is_array()) return std::string(content.as_string());
  for (const Json& part : content.elements()) text += part.get_string("text");
  return text;
}

}  // namespace

void read_sampling(const Json& body, app::SamplingChoice& sampling) {
  take_number(body, sampling.temperature, {"temperature"});
  take_number(body, sampling.top_p, {"top_p"});
  take_number(body, sampling.min_p, {"min_p"});
  take_number(body, sampling.typical_p, {"typ_p", "typical_p"});
  take_number(body, sampling.xtc_probability, {"xtc_probability"});
  take_number(body, sampling.xtc_threshold, {"xtc_threshold"});
  take_number(body, sampling.mirostat_tau, {"mirostat_tau"});
  take_number(body, sampling.mirostat_eta, {"mirostat_eta"});
  take_number(body, sampling.repetition_penalty, {"repeat_penalty", "repetition_penalty"});
  take_number(body, sampling.presence_penalty, {"presence_penalty"});
  take_number(body, sampling.frequency_penalty, {"frequency_penalty"});
  take_number(body, sampling.dry_multiplier, {"dry_multiplier"});
  take_number(body, sampling.dry_base, {"dry_base"});
  take_int(body, sampling.top_k, {"top_k"});
  take_int(body, sampling.penalty_last_n, {"repeat_last_n", "penalty_last_n"});
  take_int(body, sampling.dry_allowed_length, {"dry_allowed_length"});
  take_int(body, sampling.dry_last_n, {"dry_penalty_last_n", "dry_last_n"});
  if (body.has("dry_sequence_breakers")) {
    sampling.dry_breakers = find_strings(body, "dry_sequence_breakers", kMaxStops);
  }
  sampling.logit_bias = read_field("logit_bias", [&] { return read_biases(body); });
  // Any int64 is a seed; -1 means none elsewhere.
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

TextRequest read_text_request(const Json& body) {
  TextRequest request;
  request.model = find_string(body, "model").value_or("");
  read_sampling(body, request.sampling);
  request.choices = find_int(body, "n", 1, kMaxChoices).value_or(1);
  request.stop = find_strings(body, "stop", kMaxStops);
  std::erase(request.stop, "");
  request.ignore_end = find_bool(body, "ignore_eos").value_or(false);
  for (const char* name : {"speculative.n_max", "draft_max"}) {
    if (const auto most = find_int(body, name, 0)) request.max_drafts = *most;
  }
  request.prediction = read_field("prediction", [&] { return read_prediction(body); });
  request.streams = find_bool(body, "stream").value_or(false);
  request.with_progress = find_bool(body, "return_progress").value_or(false);
  read_field("stream_options", [&] {
    if (const auto options = body.find("stream_options")) {
      if (!options->is_object()) options->invalid("expected an object");
      request.with_usage = options->find_bool("include_usage").value_or(false);
    }
    return 0;
  });
  request.form = read_form(body);
  return request;
}

}  // namespace pippin::server
