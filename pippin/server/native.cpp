// POST /completion and /infill, in llama-server's form.
#include <algorithm>
#include <exception>
#include <random>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/server/adapters.h"
#include "pippin/server/answer_writers.h"
#include "pippin/server/endpoints.h"
#include "pippin/server/fill_in.h"
#include "pippin/server/prompt.h"
#include "pippin/server/request_json.h"

namespace pippin::server {
namespace {

using Ids = std::vector<int32_t>;

constexpr size_t kMostPrompts = 2048, kMostFiles = 1024;

// Reads a text, tokens, or a list of both as one prompt. Only its beginning gets special tokens.
Ids read_mixed(const ServedModel& model, const Json& prompt) {
  const Tokenizer& tokenizer = model.loaded.tokenizer;
  if (prompt.is_string()) return tokenizer.encode(prompt.as_string());
  if (!prompt.is_array()) prompt.invalid("expected a text, tokens, or a list of both");
  Ids ids;
  const int64_t last = model.loaded.model->num_ids() - 1;
  for (const Json& part : prompt.elements()) {
    if (part.is_string()) {
      const Ids more = tokenizer.encode(part.as_string(), ids.empty());
      ids.insert(ids.end(), more.begin(), more.end());
    } else {
      ids.push_back(static_cast<int32_t>(part.as_int(0, last)));
    }
  }
  return ids;
}

std::vector<Ids> read_native_prompts(const ServedModel& model, const RequestFields& fields) {
  const auto prompt = fields.find("prompt");
  if (!prompt) throw ApiError(400, "prompt: is missing", "prompt");
  return read_field("prompt", [&] {
    std::vector<Ids> prompts;
    bool is_one = !prompt->is_array();
    if (!is_one) {
      for (const Json& part : prompt->elements()) is_one |= part.is_integer();
    }
    if (is_one) {
      prompts.push_back(read_mixed(model, *prompt));
    } else {
      if (prompt->size() > kMostPrompts) prompt->invalid("too many prompts");
      for (const Json& one : prompt->elements()) prompts.push_back(read_mixed(model, one));
    }
    if (prompts.empty()) prompt->invalid("has no tokens");
    for (const Ids& ids : prompts) {
      if (ids.empty()) prompt->invalid("has no tokens");
    }
    return prompts;
  });
}

std::vector<FillRequest::File> read_other_files(const RequestFields& fields) {
  std::vector<FillRequest::File> files;
  const auto extra = fields.find("input_extra");
  if (!extra) return files;
  return read_field("input_extra", [&] {
    if (!extra->is_array() || extra->size() > kMostFiles) {
      extra->invalid("expected a list of {filename, text}");
    }
    for (const Json& file : extra->elements()) {
      files.push_back({file.get_string_or("filename", "tmp"), file.get_string("text")});
    }
    return files;
  });
}

NativeOptions native_options(const RequestFields& fields, const ServedModel& model,
                             TextJobOptions& job) {
  // Chosen here, so that the settings in the answer include it.
  if (!job.request.sampling.seed) job.request.sampling.seed = std::random_device()();
  NativeOptions options;
  options.model = answering_name(*model.loaded.model, model.name, job.request.model);
  options.streams = job.request.streams;
  options.with_probabilities = job.request.top_logprobs >= 0;
  options.with_tokens = find_bool(fields, "return_tokens").value_or(false);
  if (fields.has("response_fields")) {
    options.fields = find_strings(fields, "response_fields", kMaxStops);
  }
  options.prompt_choices = static_cast<size_t>(job.request.choices);
  for (const Ids& prompt : job.prompts) {
    options.prompts.push_back({model.loaded.tokenizer.decode(prompt, false), std::ssize(prompt)});
  }
  options.request = job.request;
  try {
    options.sampling =
        model.loaded.model->capabilities().greedy_only
            ? job.request.sampling.greedy_only()
            : job.request.sampling.over(model.loaded.config.sampling, model.loaded.tokenizer);
  } catch (const Error& error) {
    throw sampling_error(error);
  }
  return options;
}

TextJobOptions native_job(const RequestFields& fields) {
  TextJobOptions job;
  job.request = read_text_request(fields);
  const int64_t likely = find_int(fields, "logprobs", 0, kMaxTopLogprobs).value_or(0);
  if (likely > 0) job.request.top_logprobs = likely;
  job.tells_tokens = true;
  job.lines = {find_int(fields, "n_indent", 0).value_or(0),
               find_int(fields, "t_max_predict_ms", -1).value_or(-1)};
  return job;
}

// Whether a request has `n_predict`, or a field that /v1/completions does not have.
bool is_native(const Json& body) {
  const auto names = body.keys();
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    if (name == "n_predict") return true;
    return find_rule(name, kNative) != nullptr && find_rule(name, kCompletions) == nullptr;
  });
}

}  // namespace

void Endpoints::complete(const http::Request& request, const Replying& reply) {
  complete(read_fields(parse_body(request.body), kNative), reply);
}

// Without /v1, clients of both OpenAI and llama-server use this path; the fields tell them apart.
void Endpoints::plain_completions(const http::Request& request, const Replying& reply) {
  const Json body = parse_body(request.body);
  if (!is_native(body)) return completions(request, reply);
  try {
    complete(read_fields(body, kNative), reply);
  } catch (...) {
    reply->send(error_response(api_error(std::current_exception()), Dialect::LlamaServer));
  }
}

void Endpoints::complete(const RequestFields& fields, const Replying& reply) {
  TextJobOptions job = native_job(fields);
  const auto model = open(fields, reply);
  job.prompts = read_native_prompts(*model, fields);
  start_native(fields, model, std::move(job), reply);
}

void Endpoints::infill(const http::Request& request, const Replying& reply) {
  const RequestFields fields = read_fields(parse_body(request.body), kNative);
  TextJobOptions job = native_job(fields);
  FillRequest fill;
  for (const auto& [name, text] :
       {std::pair{"input_prefix", &fill.prefix}, std::pair{"input_suffix", &fill.suffix}}) {
    const auto given = find_string(fields, name);
    if (!given) throw ApiError(400, std::string(name) + ": is missing", name);
    *text = *given;
  }
  fill.begin = find_string(fields, "prompt").value_or("");
  fill.others = read_other_files(fields);
  const auto model = open(fields, reply);
  const int64_t most =
      model->scheduler->max_prompt() - std::max<int64_t>(job.request.max_tokens, 1);
  job.prompts.push_back(fill_in(*model, fill, most, "input_prefix"));
  for (const int32_t id : fill_end_ids(*model)) job.request.stop_tokens.push_back(id);
  start_native(fields, model, std::move(job), reply);
}

void Endpoints::start_native(const RequestFields& fields, const std::shared_ptr<ServedModel>& model,
                             TextJobOptions job, const Replying& reply) {
  for (Ids& prompt : job.prompts) {
    truncate_prompt(*model, prompt, job.request.prompt_tokens, job.request.max_tokens);
  }
  note_ignored(*reply, fields, job);
  NativeOptions options = native_options(fields, *model, job);
  options.silence = silence_;
  auto writer = make_native_writer(reply, std::move(options));
  job.dialect = Dialect::LlamaServer;
  start_text_job(model, std::move(job), forms_, reply, std::move(writer),
                 [reply](const Usage& usage, const ApiError*) { reply->note_usage(usage); });
}

}  // namespace pippin::server
