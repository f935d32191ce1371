// Handlers of the server's endpoints.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pippin/http/server.h"
#include "pippin/server/long_jobs.h"
#include "pippin/server/model_details.h"
#include "pippin/server/model_list.h"
#include "pippin/server/request_fields.h"
#include "pippin/server/response_store.h"
#include "pippin/server/running_responses.h"
#include "pippin/server/text_job.h"
#include "pippin/server/tool_runner.h"

namespace pippin::server {

// A reply that also records data for the log, the metrics and the headers.
class LoggedReply : public http::Reply {
 public:
  virtual void note_model(const std::string& name) = 0;
  virtual void note_usage(const Usage& usage) = 0;
  // Takes the fields of the request that have no effect; call it before the answer begins.
  virtual void note_ignored(const std::vector<std::string>& fields) = 0;
  virtual const std::string& id() const = 0;  // the request's
  // Whether the request yields to others: a line of a batch.
  virtual bool in_background() const { return false; }
};

// Reports the fields of a text request that have no effect; `unheeded` are those that the model's
// template does not support.
void note_ignored(LoggedReply& reply, const RequestFields& fields, const TextJobOptions& job,
                  const std::vector<std::string>& unheeded = {});

// Stored and running responses of the Responses API.
struct KnownResponses {
  explicit KnownResponses(const ResponseStoreOptions& options) : store(options) {}
  ResponseStore store;
  RunningResponses running;
};

struct KeptFiles;

class Endpoints {
 public:
  // If `pulls` is null, clients may not add or remove models; if `tools` is null, there are no
  // tools; if `kept` is null, no files and batches. Throws the errors of ResponseStore.
  Endpoints(ModelList& models, FormQueue& forms, LongJobs& transcriptions,
            std::chrono::milliseconds silence, LongJobs* pulls = nullptr,
            ToolRunner* tools = nullptr, const ResponseStoreOptions& responses = {},
            KeptFiles* kept = nullptr)
      : models_(models),
        forms_(forms),
        transcriptions_(transcriptions),
        pulls_(pulls),
        tools_(tools),
        describer_(models.load_options()),
        silence_(silence),
        responses_(std::make_shared<KnownResponses>(responses)),
        kept_(kept) {}

  // Each handler answers or throws ApiError.
  using Replying = std::shared_ptr<LoggedReply>;
  using Handler = void(const http::Request& request, const Replying& reply);
  Handler chat, completions, messages;
  // native.cpp
  Handler complete, infill, plain_completions;
  // ollama.cpp
  Handler ollama_chat, ollama_generate;
  // ollama_models.cpp
  Handler ollama_version, ollama_tags, ollama_show, ollama_ps;
  // ollama_manage.cpp
  Handler ollama_pull, ollama_delete, ollama_copy, ollama_refuse;
  // page_endpoints.cpp
  Handler tools, run_tool, clients;
  // ollama_embed.cpp
  Handler ollama_embed, ollama_embeddings;
  // embeddings.cpp
  Handler embeddings, native_embeddings, plain_embeddings;
  // rerank.cpp
  Handler rerank, score;
  // transcriptions.cpp
  Handler transcriptions, translations, inference;
  // responses.cpp
  Handler create_response, count_response_tokens, retrieve_response, list_response_input,
      delete_response, cancel_response;
  // files.cpp
  Handler create_file, list_files, retrieve_file, read_file_content, delete_file;
  // batches.cpp
  Handler create_batch, list_batches, retrieve_batch, cancel_batch, count_tokens, tokenize,
      detokenize, apply_template, props, list_adapters, set_adapters, load, unload;

  // These answer at once, from existing state.
  http::Response models() const;
  http::Response model(const std::string& name) const;

 private:
  struct NamedVectors {
    std::string model;
    std::vector<std::vector<float>> vectors;
    int64_t tokens = 0;
  };
  // Long texts are truncated if the request asks for that, or by default if `cuts`.
  std::optional<NamedVectors> embed(const RequestFields& fields, const Replying& reply,
                                    bool cuts = false);
  std::optional<NamedVectors> embed(const OpenedModel& opened, const RequestFields& fields,
                                    const Replying& reply, bool cuts = false);
  OpenedModel open_embedder(const RequestFields& fields, const Replying& reply);
  void rerank(const http::Request& request, const RequestFields& fields, const Replying& reply);
  OpenedModel open_scorer(const RequestFields& fields, const Replying& reply);
  void complete(const RequestFields& fields, const Replying& reply);
  void start_native(const RequestFields& fields, const std::shared_ptr<ServedModel>& model,
                    TextJobOptions job, const Replying& reply);
  // Return the fields of a request with the defaults of its model.
  RequestFields read_fields(const Json& body, FieldsOf endpoint) const;
  RequestFields with_defaults(RequestFields fields, FieldsOf endpoint) const;
  std::shared_ptr<ServedModel> open(const std::string& name, const Replying& reply);
  // Does the same for the model of a request, and sets the keep-alive that the request asks for.
  std::shared_ptr<ServedModel> open(const RequestFields& fields, const Replying& reply);
  OpenedModel open_any(const RequestFields& fields, const Replying& reply);
  struct OllamaRequest;
  void open(OllamaRequest& request, const Replying& reply);
  void load(OllamaRequest& request, bool is_chat, const Replying& reply);
  void start(const OllamaRequest& request, TextJobOptions job, bool is_chat,
             std::optional<std::vector<int32_t>> context, const std::vector<std::string>& unheeded,
             const Replying& reply);
  void check_may_pull() const;
  KeptFiles& kept_files() const;
  void transcribe(const http::Request& request, FieldsOf endpoint, const Replying& reply);
  void embed_for_ollama(const http::Request& request, bool is_one, const Replying& reply);

  ModelList& models_;
  FormQueue& forms_;
  LongJobs& transcriptions_;
  LongJobs* const pulls_;
  ToolRunner* const tools_;
  ModelDescriber describer_;
  const std::chrono::milliseconds silence_;
  const std::shared_ptr<KnownResponses> responses_;
  KeptFiles* const kept_;
};

}  // namespace pippin::server
