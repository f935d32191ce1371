#include <algorithm>
#include <utility>

#include "pippin/server/answer_json.h"
#include "pippin/server/answer_writers.h"
#include "pippin/server/event_stream.h"

namespace pippin::server {
namespace {

void write_token(JsonWriter& json, int32_t id, std::string_view text, double logprob) {
  json.member("id", id).member("token", text).key("bytes");
  write_bytes(json, text);
  json.member("logprob", logprob);
}

// Returns an element of "completion_probabilities".
std::string probabilities_of(const Piece& piece) {
  JsonWriter json;
  json.begin_object();
  write_token(json, piece.id, piece.token, piece.logprobs->chosen.logprob);
  json.key("top_logprobs").begin_array();
  for (size_t i = 0; i < piece.logprobs->top.size(); ++i) {
    const auto& top = piece.logprobs->top[i];
    json.begin_object();
    write_token(json, top.id, piece.top_tokens[i], top.logprob);
    json.end_object();
  }
  return json.end_array().end_object().text();
}

void write_settings(JsonWriter& json, const NativeOptions& options) {
  const runtime::SamplingOptions& sampling = options.sampling;
  const TextRequest& request = options.request;
  json.key("generation_settings").begin_object();
  json.member("n_predict", request.max_tokens).member("max_tokens", request.max_tokens);
  json.member("seed", sampling.seed).member("temperature", sampling.temperature);
  json.member("top_k", sampling.top_k).member("top_p", sampling.top_p);
  json.member("min_p", sampling.min_p).member("typical_p", sampling.typical_p);
  json.member("xtc_probability", sampling.xtc_probability);
  json.member("xtc_threshold", sampling.xtc_threshold);
  json.member("repeat_penalty", sampling.repetition_penalty);
  json.member("repeat_last_n", sampling.penalty_last_n == 0 ? -1 : sampling.penalty_last_n);
  json.member("presence_penalty", sampling.presence_penalty);
  json.member("frequency_penalty", sampling.frequency_penalty);
  json.member("dry_multiplier", sampling.dry_multiplier).member("dry_base", sampling.dry_base);
  json.member("dry_allowed_length", sampling.dry_allowed_length);
  json.member("dry_penalty_last_n", sampling.dry_last_n == 0 ? -1 : sampling.dry_last_n);
  json.member("mirostat", sampling.mirostat_tau > 0 ? 2 : 0);
  json.member("mirostat_tau", sampling.mirostat_tau);
  json.member("mirostat_eta", sampling.mirostat_eta).member("stop", request.stop);
  json.member("ignore_eos", request.ignore_end).member("stream", options.streams);
  json.member("n_probs", std::max<int64_t>(request.top_logprobs, 0)).end_object();
}

// Returns the members of an answer at these paths, each under the last name of its path.
std::string only_fields(const std::string& text, const std::vector<std::string>& paths) {
  const Json whole = Json::parse(text, "answer");
  JsonWriter json;
  json.begin_object();
  for (const std::string& path : paths) {
    std::optional<Json> at = whole;
    std::string name;
    for (size_t begin = 0; at && begin <= path.size();) {
      const size_t end = std::min(path.find('/', begin), path.size());
      name = path.substr(begin, end - begin);
      at = at->is_object() && at->contains(name) ? std::optional(at->at(name)) : std::nullopt;
      begin = end + 1;
    }
    if (at) json.key(name).value(*at);
  }
  return json.end_object().text();
}

class NativeWriter final : public AnswerWriter {
 public:
  NativeWriter(std::shared_ptr<http::Reply> reply, NativeOptions options)
      : reply_(std::move(reply)),
        options_(std::move(options)),
        choices_(options_.prompts.size() * options_.prompt_choices) {}

  void begin() override {
    if (options_.streams) begin_events(*reply_, options_.silence);
  }
  void on_piece(size_t index, const Piece& piece) override {
    Choice& choice = choices_[index];
    const std::string text = content_of(piece);
    choice.content += text;
    if (piece.id >= 0) choice.tokens.push_back(piece.id);
    std::string probabilities;
    if (piece.logprobs != nullptr) probabilities = probabilities_of(piece);
    if (!options_.streams) {
      if (probabilities.empty()) return;
      choice.probabilities += (choice.probabilities.empty() ? "" : ",") + probabilities;
      return;
    }
    if (piece.id >= 0) choice.unsent.push_back(piece.id);
    if (text.empty() && probabilities.empty()) return;
    JsonWriter json;
    json.begin_object().member("index", index).member("content", text);
    json.member("tokens", std::exchange(choice.unsent, {})).member("stop", false);
    json.member("id_slot", index).member("tokens_predicted", choice.tokens.size());
    json.member("tokens_evaluated", prompt_of(index).tokens);
    if (!probabilities.empty()) {
      json.key("completion_probabilities").raw("[" + probabilities + "]");
    }
    write(json.end_object().text());
  }
  void on_choice_end(size_t index, Finish finish, const std::string& stop) override {
    choices_[index].finish = finish;
    choices_[index].stop = stop;
  }
  void end(const Usage& usage) override {
    if (options_.streams) {
      for (size_t i = 0; i < choices_.size(); ++i) write(last(i, usage));
      return reply_->end();
    }
    std::string body;
    for (size_t i = 0; i < choices_.size(); ++i) {
      std::string one = last(i, usage);
      if (options_.fields) one = only_fields(one, *options_.fields);
      body += (i == 0 ? "" : ",") + one;
    }
    reply_->send({.body = choices_.size() == 1 ? body : "[" + body + "]"});
  }
  void fail(const ApiError& error) override {
    if (!options_.streams) return reply_->send(error_response(error, Dialect::LlamaServer));
    write(error_body(error, Dialect::LlamaServer));
    reply_->end();
  }

 private:
  struct Choice {
    std::string content, probabilities, stop;
    std::vector<int32_t> tokens, unsent;
    Finish finish = Finish::Stop;
  };

  const NativeOptions::Prompt& prompt_of(size_t index) const {
    return options_.prompts[index / options_.prompt_choices];
  }
  // Returns the whole answer, or the last event of a stream, which has everything but the text.
  std::string last(size_t index, const Usage& usage) const {
    const Choice& choice = choices_[index];
    const std::vector<int32_t> none;
    JsonWriter json;
    json.begin_object().member("index", index);
    json.member("content", options_.streams ? "" : choice.content);
    json.member("tokens", options_.streams       ? choice.unsent
                          : options_.with_tokens ? choice.tokens
                                                 : none);
    json.member("id_slot", index).member("stop", true).member("model", options_.model);
    json.member("tokens_predicted", choice.tokens.size());
    json.member("tokens_evaluated", prompt_of(index).tokens);
    write_settings(json, options_);
    json.member("prompt", prompt_of(index).text);
    json.member("has_new_line", choice.content.find('\n') != std::string::npos);
    json.member("truncated", false);
    json.member("stop_type", choice.finish == Finish::Length ? "limit"
                             : choice.stop.empty()           ? "eos"
                                                             : "word");
    json.member("stopping_word", choice.stop).member("tokens_cached", usage.cached_tokens);
    write_timings(json, usage);
    if (options_.with_probabilities && !options_.streams) {
      json.key("completion_probabilities").raw("[" + choice.probabilities + "]");
    }
    return json.end_object().text();
  }
  void write(std::string_view data) { reply_->write(event_text(data)); }

  const std::shared_ptr<http::Reply> reply_;
  const NativeOptions options_;
  std::vector<Choice> choices_;
};

}  // namespace

std::unique_ptr<AnswerWriter> make_native_writer(std::shared_ptr<http::Reply> reply,
                                                 NativeOptions options) {
  return std::make_unique<NativeWriter>(std::move(reply), std::move(options));
}

}  // namespace pippin::server
