// The models of a server: loaded when somebody asks, let go when nobody does.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pippin/answer/call_syntax.h"
#include "pippin/answer/reasoning.h"
#include "pippin/app/answer_form.h"
#include "pippin/app/open_model.h"
#include "pippin/app/text_encoder.h"
#include "pippin/base/mapped_origin.h"
#include "pippin/base/thread.h"
#include "pippin/serve/scheduler.h"
#include "pippin/server/embedder.h"
#include "pippin/server/model_settings.h"

namespace pippin::server {

// A model that is loaded, with the scheduler of its requests.
struct ServedModel {
  // Reads off the template what there is to know.
  ServedModel(std::string called, runtime::LoadedModel opened,
              const serve::SchedulerOptions& options);

  std::string name;
  runtime::LoadedModel loaded;
  std::vector<int32_t> end_ids, chat_end_ids;
  std::string template_source;                              // empty: none
  std::shared_ptr<const answer::ReasoningMarks> reasoning;  // null: none
  std::string thinking_switch;                              // of the template (thinking.h)
  std::shared_ptr<const answer::CallSyntax> calls;          // of tools; null: nothing tells how
  bool takes_tools = false;                                 // the template does
  std::unique_ptr<app::FormCompiler> forms;
  uint64_t bytes = 0;
  double load_seconds = 0;
  app::ModelChoice choice;                      // as it was opened
  std::mutex embedder_mutex;                    // of the next
  std::shared_ptr<Embedder> embedder;           // null: not asked for yet
  std::unique_ptr<serve::Scheduler> scheduler;  // first to go
};

struct ModelEntry {
  std::string name;
  std::string path;  // as `pippin run` takes it; empty: the demo model
  std::vector<std::string> aliases = {};
  std::shared_ptr<const ModelSettings> settings = nullptr;  // null: those of the list
};

// The settings of entries without their own, and of the list.
struct ModelListOptions : ModelSettings {
  std::vector<ModelEntry> models;  // the first one is meant where a request names none
  // Of all models that are loaded, that load, or that are unloaded when their last requests end; 0:
  // no limit. Files count once, whatever models are made of them. A larger model is loaded alone.
  uint64_t max_bytes = 0;
  std::chrono::seconds room_wait{60};  // for others to make room
};

enum class ModelState { Absent, Loading, Ready, Failed };

struct ModelStatus {
  std::string name, path;
  std::vector<std::string> aliases;  // further names
  ModelState state = ModelState::Absent;
  std::string error;                                // of the last try
  int64_t created = 0;                              // seconds since 1970
  std::shared_ptr<ServedModel> model;               // null unless it is ready, and a language model
  std::shared_ptr<const app::TextEncoder> encoder;  // null unless it is ready, and one
  uint64_t bytes = 0;                               // of its files, while it is loaded
  // When it is unloaded if nothing asks for it; nothing: when memory is short.
  std::optional<std::chrono::system_clock::time_point> expires;
};

// One of the list: a language model, or one that embeds or scores texts.
struct OpenedModel {
  std::shared_ptr<ServedModel> model;
  std::shared_ptr<const app::TextEncoder> encoder;
  std::string name;
  uint64_t first_mapping = 0;  // its files have this number or a later one (base/mapped_origin.h)
};

// Any thread.
class ModelList {
 public:
  // Entries of one path and the same settings are one model of several names. Throws
  // InvalidArgument for two models of one name, and for none.
  explicit ModelList(ModelListOptions options);
  ModelList(const ModelList&) = delete;
  ModelList& operator=(const ModelList&) = delete;
  ~ModelList();

  const runtime::LoadOptions& load_options() const { return options_.choice.load; }  // of all
  // Loads the model if it is not loaded or one of its files was written to, and waits for that.
  // Throws ApiError: 404 for a name that is not on the list, 500 with the reason for a model
  // that cannot be loaded, 503 without room for it.
  OpenedModel open(const std::string& name);
  // Lets it go where it is loaded; requests that run keep it until they end. Throws ApiError: 404
  // as above, 503 while it is being loaded.
  void unload(const std::string& name);
  // Keeps the model for so long without a request, until it is unloaded; negative: until memory is
  // short. A pinned model stays as it is. Throws ApiError(404).
  void keep(const std::string& name, std::chrono::milliseconds time);
  // A further model, which is not loaded yet, or a further name of one. Throws ApiError: 400 for a
  // name that cannot be one or belongs to another model, 404 for a model that is not there.
  void add(const ModelEntry& entry);
  void add_alias(const std::string& name, const std::string& alias);
  // Takes away a name that was added. Returns the model's path if it was its last one; requests
  // that run keep the model until they end. Throws ApiError: 404; 403 for a name of the options,
  // 503 while it is being loaded.
  std::optional<std::string> remove(const std::string& name);
  // Called between a computation and the answer made of it. Throws ApiError(500) and unloads the
  // model if one of its files is damaged (base/mapped_guard.h).
  void check_files(const OpenedModel& opened);
  // As open(); ApiError(400) for a model that writes no text.
  std::shared_ptr<ServedModel> get(const std::string& name);
  // Its embeddings; opened when they are first asked for. Throws ApiError(400) for a model that can
  // give none.
  std::shared_ptr<Embedder> embedder(ServedModel& model);
  // Puts the adapters of packages on this machine on the list: models of their own, called
  // MODEL:ADAPTER, which are made of the same mapped files. Those of other packages join it when
  // they are loaded.
  void find_adapters();
  // Null for a name that is not on the list.
  std::shared_ptr<const ModelSettings> settings(const std::string& name);
  // Names of the models to load before the first request.
  std::vector<std::string> names_at_start() const;
  // As they are now.
  std::vector<ModelStatus> all() const;
  // Of one. Throws ApiError(404).
  ModelStatus status(const std::string& name) const;
  // Whether there is a model that can answer, or, after the first one was loaded or where none is
  // to be loaded at start, that can be loaded on request.
  bool is_ready() const;
  // Every sequence ends, no model is loaded any more.
  void stop();

 private:
  struct Slot;
  using Clock = std::chrono::steady_clock;

  Slot* find_same(const ModelEntry& entry) const;
  Slot* look_up(std::string_view name) const;
  Slot* find_slot(const std::string& name) const;  // null: none
  Slot& find(const std::string& name) const;
  Slot* find_base(const std::string& name) const;  // of MODEL:ADAPTER; null: none
  void find_adapters_for(const std::string& name);
  void add_adapters(Slot& slot, const std::filesystem::path& path);
  ModelStatus status_of(const Slot& slot) const;
  void check_new(const std::string& name) const;
  std::chrono::milliseconds keep_alive_of(const Slot& slot) const;
  void load(Slot& slot, std::unique_lock<std::mutex>& lock);
  void make_room(Slot& slot, uint64_t bytes);
  struct Taken;
  Taken taken_besides(const Slot& slot) const;
  void let_go(Slot& slot);
  bool is_of(const FileOrigin& file, const Slot& slot, uint64_t first_mapping) const;
  std::optional<std::string> find_change(const Slot& slot) const;
  std::optional<std::string> find_damage(const Slot& slot, uint64_t first_mapping) const;
  void check_files(Slot& slot, uint64_t first_mapping);
  void watch();

  const ModelListOptions options_;
  const std::shared_ptr<const ModelSettings> settings_;  // of entries without their own
  std::vector<std::unique_ptr<Slot>> slots_;
  mutable std::mutex mutex_;  // of what is in the slots
  std::condition_variable changed_;
  bool is_stopped_ = false;
  bool has_begun_ = false;  // one was loaded, or could not be
  struct Leaving {
    std::shared_ptr<ServedModel> model;
    std::shared_ptr<const app::TextEncoder> encoder;
    std::filesystem::path path;
    uint64_t bytes = 0;
  };
  // Until their last request has ended and they are freed; then without the model.
  std::vector<Leaving> leaving_;
  Thread watcher_;
};

}  // namespace pippin::server
