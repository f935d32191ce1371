// /api/version, /api/tags, /api/ps and /api/show, in ollama's form.
#include <chrono>

#include <fmt/format.h>

#include "pippin/server/endpoints.h"
#include "pippin/server/line_stream.h"
#include "pippin/server/model_names.h"
#include "pippin/server/request_json.h"

namespace pippin::server {
namespace {

using std::chrono::system_clock;

// The version of ollama that these endpoints match; clients compare it with the one that they need.
constexpr const char* kVersion = "0.12.11";
constexpr const char* kForEver = "9999-12-31T23:59:59Z";

// "7.6B", "124.4M"
std::string count_text(int64_t count) {
  if (count <= 0) return {};
  const auto number = static_cast<double>(count);
  if (number >= 1e9) return fmt::format("{:.1f}B", number / 1e9);
  if (number >= 1e6) return fmt::format("{:.1f}M", number / 1e6);
  return fmt::format("{:.1f}K", number / 1e3);
}

void write_details(JsonWriter& json, const ModelDetails& details) {
  const std::string& family = details.architecture;
  json.key("details").begin_object().member("parent_model", "");
  json.member("format", details.format).member("family", family).key("families").begin_array();
  if (!family.empty()) json.value(family);
  json.end_array().member("parameter_size", count_text(details.parameters));
  json.member("quantization_level", details.quantization).end_object();
}

std::string modified_text(const ModelDetails& details) {
  return utc_text(system_clock::time_point(std::chrono::seconds(details.files.modified)));
}

// Writes the members that /api/tags and /api/ps share.
void write_model(JsonWriter& json, const std::string& name, const ModelDetails& details) {
  const std::string tagged = tagged_name(name);
  json.member("name", tagged).member("model", tagged);
  json.member("size", details.files.bytes).member("digest", details.files.digest);
  write_details(json, details);
}

template <typename Take>
void each_name(const ModelStatus& status, Take take) {
  take(status.name);
  for (const std::string& alias : status.aliases) take(alias);
}

std::vector<std::string> capabilities_of(const ModelDetails& details) {
  if (details.is_encoder) return {"embedding"};
  if (details.hears) return {"transcription"};
  std::vector<std::string> names = {"completion"};
  if (details.takes_tools) names.emplace_back("tools");
  if (details.fills_in) names.emplace_back("insert");
  if (details.thinks) names.emplace_back("thinking");
  return names;
}

void write_info(JsonWriter& json, const std::string& name, const ModelDetails& details) {
  const std::string family = details.architecture.empty() ? "unknown" : details.architecture;
  json.key("model_info").begin_object().member("general.architecture", family);
  json.member("general.basename", name);
  if (details.parameters > 0) json.member("general.parameter_count", details.parameters);
  if (details.context > 0) json.member(family + ".context_length", details.context);
  for (const auto& [size, count] : details.sizes)
    json.member(fmt::format("{}.{}", family, size), count);
  json.end_object();
}

// Returns the model's own recommendations, as a Modelfile lists them.
std::string parameters_text(const ServedModel& model) {
  const runtime::SamplingOptions& sampling = model.loaded.config.sampling;
  std::string text = fmt::format("temperature {}\ntop_k {}\ntop_p {}\nmin_p {}\nrepeat_penalty {}",
                                 sampling.temperature, sampling.top_k, sampling.top_p,
                                 sampling.min_p, sampling.repetition_penalty);
  for (const std::string& stop : model.loaded.config.stop_strings) {
    JsonWriter quoted;
    quoted.value(stop);
    text += "\nstop " + quoted.text();
  }
  return text;
}

}  // namespace

void Endpoints::ollama_version(const http::Request& /*request*/, const Replying& reply) {
  JsonWriter json;
  json.begin_object().member("version", kVersion).end_object();
  reply->send({.body = json.text()});
}

// Lists the models on this machine.
void Endpoints::ollama_tags(const http::Request& /*request*/, const Replying& reply) {
  JsonWriter json;
  json.begin_object().key("models").begin_array();
  for (const ModelStatus& status : models_.all()) {
    const auto details = describer_.find(status);
    if (!details) continue;
    each_name(status, [&](const std::string& name) {
      json.begin_object();
      write_model(json, name, *details);
      json.member("modified_at", modified_text(*details)).end_object();
    });
  }
  reply->send({.body = json.end_array().end_object().text()});
}

// Lists the loaded models.
void Endpoints::ollama_ps(const http::Request& /*request*/, const Replying& reply) {
  JsonWriter json;
  json.begin_object().key("models").begin_array();
  for (const ModelStatus& status : models_.all()) {
    if (status.state != ModelState::Ready || status.shares_model) continue;
    const auto details = describer_.find(status);
    json.begin_object();
    write_model(json, status.name, details.value_or(ModelDetails{}));
    json.member("expires_at", status.expires ? utc_text(*status.expires) : kForEver);
    json.member("size_vram", 0);
    if (details) json.member("context_length", details->context);
    json.end_object();
  }
  reply->send({.body = json.end_array().end_object().text()});
}

void Endpoints::ollama_show(const http::Request& request, const Replying& reply) {
  const Json body = parse_body(request.body);
  auto name = find_string(body, "model");
  if (!name || name->empty()) name = find_string(body, "name");
  if (!name || name->empty()) throw ApiError(400, "model: is missing", "model");
  ModelStatus status = models_.status(*name);
  if (status.path.empty() && status.model == nullptr) {
    models_.get(*name);  // the demo model has no files to read
    status = models_.status(*name);
  }
  const auto details = describer_.find(status);
  if (!details) {
    throw ApiError(404, "the model \"" + *name + "\" is not on this machine yet: /api/pull gets it",
                   "model", "model_not_found");
  }
  JsonWriter json;
  json.begin_object().member("modelfile", "FROM " + status.name + "\n");
  json.member("parameters", status.model == nullptr ? "" : parameters_text(*status.model));
  json.member("template", details->template_source);
  write_details(json, *details);
  write_info(json, std::string(plain_name(*name)), *details);
  json.member("capabilities", capabilities_of(*details));
  json.member("modified_at", modified_text(*details)).end_object();
  reply->note_model(status.name);
  reply->send({.body = json.text()});
}

}  // namespace pippin::server
