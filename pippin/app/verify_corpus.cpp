#include "pippin/app/verify_corpus.h"

#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/app/open/corpus_text.h"
#include "pippin/app/open/hub_model.h"
#include "pippin/app/open/speech_model.h"
#include "pippin/base/error.h"
#include "pippin/batch/job.h"
#include "pippin/batch/merge.h"
#include "pippin/batch/shard.h"
#include "pippin/batch/worker.h"
#include "pippin/engine/device.h"
#include "pippin/io/json.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;
using runtime::AgreementSums;

void refuse_unmeasured(const VerifyLimits& limits) {
  const bool has_others = limits.max_step_difference || limits.max_prefill_difference ||
                          limits.max_part_difference || limits.same_greedy;
  if (!has_others) return;
  fail(ErrorCode::InvalidArgument,
       "on a corpus, differences of steps, prefill and parts, and greedy texts are not measured");
}

std::string where_is(const batch::Request& request) {
  return fmt::format("line {}", request.line);
}

std::string sums_json(const AgreementSums& sums) {
  JsonWriter json;
  json.begin_object().member("tokens", sums.tokens).member("next_tokens", sums.next_tokens);
  json.member("same", sums.same).member("kl", sums.kl).member("max_kl", sums.max_kl);
  json.member("log_likelihood", sums.log_likelihood);
  json.member("source_log_likelihood", sums.source_log_likelihood).end_object();
  return json.text();
}

AgreementSums read_sums(const Json& json) {
  return {json.get_int("tokens"),
          json.get_int("next_tokens"),
          json.get_int("same"),
          json.get_float("kl"),
          json.get_float("max_kl"),
          json.get_float("log_likelihood"),
          json.get_float("source_log_likelihood")};
}

batch::Answer failure(const std::string& message) {
  JsonWriter json;
  json.begin_object().key("error").begin_object().member("message", message);
  return {400, json.end_object().end_object().text()};
}

// The options that determine the result, besides files.
void add_options(const ModelChoice& model, std::map<std::string, std::string>& options) {
  constexpr const char* kPrecisions[] = {"fast", "exact", "reference"};
  const runtime::LoadOptions& load = model.load;
  options["MODEL"] = model.path;
  options["--precision"] = kPrecisions[static_cast<size_t>(load.compute.precision)];
  options["--cache-type"] = to_string(load.cache_type);
  if (load.context > 0) options["--context"] = std::to_string(load.context);
  if (load.prefill != runtime::PrefillMode::Auto) {
    options["--prefill"] = load.prefill == runtime::PrefillMode::Steps ? "steps" : "batch";
  }
  if (load.compute.device != nullptr) options["--backend"] = load.compute.device->name();
  if (!load.adapter.empty()) options["--adapter"] = load.adapter;
  for (const runtime::RunAdapter& adapter : load.run_adapters) {
    options["--lora"] += fmt::format("{}:{} ", adapter.path, adapter.scale);
  }
}

// The two models, opened when a text is to be compared.
class Comparison {
 public:
  Comparison(const ModelChoice& model, const ModelChoice& source, int64_t window)
      : model_(open_runnable(model)), source_(open_model(source)), window_(window) {
    for (const runtime::RunnableModel* const one :
         {static_cast<const runtime::RunnableModel*>(&model_),
          static_cast<const runtime::RunnableModel*>(&source_)}) {
      if (!one->model->capabilities().greedy_only) continue;
      fail(ErrorCode::InvalidArgument,
           "no logits to compare on a corpus: a model chooses its most likely token itself");
    }
    compare_logits(*model_.model, *source_.model, {}, window_);  // checks the vocabularies
  }

  // Text that cannot be compared is an answer, so that it does not end the others.
  batch::Answer answer(const std::string& text) {
    try {
      const std::vector<int32_t> ids = source_.tokenizer.encode(text);
      const AgreementSums sums = compare_logits(*model_.model, *source_.model, ids, window_);
      if (!std::isfinite(sums.kl + sums.log_likelihood + sums.source_log_likelihood)) {
        return failure("the models' distributions have no finite divergence");
      }
      return {200, sums_json(sums)};
    } catch (const Error& error) {
      if (error.code() == ErrorCode::Cancelled || error.code() == ErrorCode::Io) throw;
      return failure(error.what());
    }
  }

 private:
  runtime::RunnableModel model_;
  runtime::LoadedModel source_;
  int64_t window_;
};

// The sums of all texts in their order, so that they do not depend on who compared which.
void add_answers(const batch::Job& job, AgreementSums& sums, CorpusResult& result) {
  for (size_t shard = 0; shard < job.shards.size(); ++shard) {
    each_answer_of(job, shard, [&](std::string_view line) {
      ++result.texts;
      const Json answer = Json::parse(line, job.part(shard).string());
      if (batch::is_success(line)) {
        sums.add(read_sums(answer.at("response").at("body")));
        return;
      }
      if (result.failed++ > 0) return;
      const auto response = answer.find("response");
      const bool has_response = response && response->is_object();
      const Json error = has_response ? response->at("body").at("error") : answer.at("error");
      result.first_failure =
          fmt::format("line {}: {}", answer.get_string("custom_id"), error.get_string("message"));
    });
  }
}

}  // namespace

CorpusResult verify_corpus(const ModelChoice& model, const ModelChoice& source,
                           const CorpusOptions& corpus, const VerifyOptions& options) {
  check_limits(options.limits);
  refuse_unmeasured(options.limits);
  const std::string local = resolve_model(source.path, ModelPart::All, source.pulls);
  if (fs::exists(local) && is_speech_model(local)) {
    fail(ErrorCode::InvalidArgument, "{}: a model of speech is compared on a recording, not a text",
         source.path);
  }
  const CorpusTexts texts(corpus.input);
  batch::JobSettings settings;
  settings.input = corpus.input;
  settings.kind = batch::InputKind::Texts;
  settings.shard_requests = corpus.shard;
  add_options(model, settings.options);
  settings.options["--against"] = source.path;
  if (!source.tokenizer.empty()) settings.options["--tokenizer"] = source.tokenizer;
  settings.options["--window"] = std::to_string(options.agreement.window);
  settings.check = [&](const batch::Request& request, const std::string& where) {
    texts.of(request, where);
  };
  std::optional<Comparison> comparison;
  const auto load = [&] {
    if (!comparison) comparison.emplace(model, source, options.agreement.window);
  };
  // Models that cannot be compared leave no job behind.
  if (!fs::exists(corpus.folder / "job.json")) load();
  const std::string owner = batch::Claims::new_owner();
  const batch::Job job = batch::open_job(corpus.folder, settings, owner);
  if (job.count_missing() > 0) {
    load();
    batch::WorkerOptions work;
    work.first_share = corpus.first_share;
    work.on_progress = corpus.progress;
    if (corpus.mark_crashes) corpus.mark_crashes(batch::crash_mark(job, owner));
    const batch::Answering answering = [&](std::span<const batch::Request* const> requests) {
      std::vector<batch::Answer> answers;
      answers.reserve(requests.size());
      for (const batch::Request* const request : requests) {
        answers.push_back(comparison->answer(texts.of(*request, where_is(*request))));
      }
      return answers;
    };
    batch::work(job, owner, answering, work);
  }
  CorpusResult result;
  AgreementSums sums;
  add_answers(job, sums, result);
  result.result.agreement = sums.agreement();
  result.result.broken = broken_limits(options.limits, result.result.agreement);
  return result;
}

}  // namespace pippin::app
