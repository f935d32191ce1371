// The models of a server: loaded on first request, unloaded when idle.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pippin/app/image_encoder.h"
#include "pippin/app/speech_to_text.h"
#include "pippin/app/text_encoder.h"
#include "pippin/base/files/mapped_origin.h"
#include "pippin/base/threads/thread.h"
#include "pippin/server/model_settings.h"
#include "pippin/server/served_model.h"

namespace pippin::server {

struct ModelEntry {
  std::string name;
  std::string path;  // as for `pippin run`; empty: the demo model
  std::vector<std::string> aliases = {};
  std::shared_ptr<const ModelSettings> settings = nullptr;  // null: those of the list
};

// Settings of the list, and of entries without their own.
struct ModelListOptions : ModelSettings {
  std::vector<ModelEntry> models;  // the first one is the default for requests
  // Limit for all models that are loaded, loading, or about to be unloaded when their last requests
  // end; 0: no limit. Files shared by several models count once. A larger model is loaded alone.
  uint64_t max_bytes = 0;
  std::chrono::seconds room_wait{60};  // until other models make room
  bool allows_remote_images = false;   // fetches images at public URLs that clients name
};

// A loaded model of one of these kinds, or of the two of encoders; the others are null.
struct AnyModel {
  std::shared_ptr<ServedModel> model;               // a language model
  std::shared_ptr<const app::TextEncoder> encoder;  // embeds or scores texts
  // Embeds or classifies images; next to `encoder` if texts have vectors in the same space.
  std::shared_ptr<const app::ImageEncoder> images;
  std::shared_ptr<const app::SpeechToText> speech;  // writes the texts of recordings

  bool is_loaded() const {
    return model != nullptr || encoder != nullptr || images != nullptr || speech != nullptr;
  }
  const AnyModel& held() const { return *this; }
  // Whether another object holds it, too.
  bool is_shared() const {
    return model.use_count() > 1 || encoder.use_count() > 1 || images.use_count() > 1 ||
           speech.use_count() > 1;
  }
};

enum class ModelState { Absent, Loading, Ready, Failed };

// The model is null unless it is ready.
struct ModelStatus : AnyModel {
  std::string name, path;
  std::string base;                  // of MODEL:ADAPTER: MODEL
  bool shares_model = false;         // it is the loaded model of `base`, whose runs add the adapter
  std::vector<std::string> aliases;  // further names
  ModelState state = ModelState::Absent;
  std::string error;    // of the last attempt
  int64_t created = 0;  // seconds since 1970
  uint64_t bytes = 0;   // of its files, while it is loaded
  // When it is unloaded without further requests; nothing: when memory is short.
  std::optional<std::chrono::system_clock::time_point> expires;
};

// One model of the list.
struct OpenedModel : AnyModel {
  std::string name;
  std::string adapter = {};    // that the name names, of those that runs of the model add
  uint64_t first_mapping = 0;  // its files have this or a later number (base/files/mapped_origin.h)
};

// Thread-safe.
class ModelList {
 public:
  // Entries with the same path and settings are one model with several names. Throws
  // InvalidArgument if two models have the same name, or if there is no model.
  explicit ModelList(ModelListOptions options);
  ModelList(const ModelList&) = delete;
  ModelList& operator=(const ModelList&) = delete;
  ~ModelList();

  bool allows_remote_images() const { return options_.allows_remote_images; }
  const runtime::LoadOptions& load_options() const { return options_.choice.load; }
  // Loads the model if it is not loaded or one of its files has changed, and waits for that. Throws
  // ApiError: 404 for a name that is not on the list, 500 with the reason for a model that cannot
  // be loaded, 503 if it does not fit.
  OpenedModel open(const std::string& name);
  // Unloads the model if it is loaded; running requests keep it until they end. Throws ApiError:
  // 404 as above, 503 while it is being loaded.
  void unload(const std::string& name);
  // Keeps the model for this time without a request before unloading it; negative: until memory is
  // short. A pinned model is not affected. Throws ApiError(404).
  void keep(const std::string& name, std::chrono::milliseconds time);
  // Add a model, which is not loaded yet, or another name of a model. Throw ApiError: 400 for a
  // name that is invalid or belongs to another model, 404 for an unknown model.
  void add(const ModelEntry& entry);
  void add_alias(const std::string& name, const std::string& alias);
  // Removes an added name. Returns the model's path if it was its last name; running requests keep
  // the model until they end. Throws ApiError: 404; 403 for a name from the options, 503 while it
  // is being loaded.
  std::optional<std::string> remove(const std::string& name);
  // Call it between a computation and its answer. Throws ApiError(500) and unloads the model if one
  // of its files is damaged (base/files/mapped_guard.h).
  void check_files(const OpenedModel& opened);
  // Does the same as open(); throws ApiError(400) for a model that does not generate text.
  std::shared_ptr<ServedModel> get(const std::string& name);
  // Returns the model's embedder, which is opened on first request. Throws ApiError(400) for a
  // model that cannot produce embeddings.
  std::shared_ptr<Embedder> embedder(ServedModel& model);
  // Adds the adapters of packages on this machine to the list, as models called MODEL:ADAPTER that
  // share the mapped files. Adapters of other packages are added when these are loaded.
  void find_adapters();
  // Returns null for a name that is not on the list.
  std::shared_ptr<const ModelSettings> settings(const std::string& name);
  // Returns the names of the models to load before the first request.
  std::vector<std::string> names_at_start() const;
  // Returns the current status of all models.
  std::vector<ModelStatus> all() const;
  // Returns the status of one model. Throws ApiError(404).
  ModelStatus status(const std::string& name) const;
  // Returns whether a model can answer now or, after the first load or if none is loaded at start,
  // can be loaded on request.
  bool is_ready() const;
  // Ends every sequence; no model is loaded afterwards.
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
  void add_run_adapters(Slot& slot);
  static const Slot& holder_of(const Slot& slot);
  static Slot& holder_of(Slot& slot) { return const_cast<Slot&>(holder_of(std::as_const(slot))); }
  ModelStatus status_of(const Slot& slot) const;
  void check_new(const std::string& name) const;
  std::chrono::milliseconds keep_alive_of(const Slot& slot) const;
  void load(Slot& slot, std::unique_lock<std::mutex>& lock);
  void make_room(Slot& slot, uint64_t bytes);
  struct Taken;
  Taken taken_by_others(const Slot& slot) const;
  void unload_slot(Slot& slot);
  bool is_of(const FileOrigin& file, const Slot& slot, uint64_t first_mapping) const;
  std::optional<std::string> find_change(const Slot& slot) const;
  std::optional<std::string> find_damage(const Slot& slot, uint64_t first_mapping) const;
  void check_files(Slot& slot, uint64_t first_mapping);
  void watch();

  const ModelListOptions options_;
  const std::shared_ptr<const ModelSettings> settings_;  // of entries without their own
  std::vector<std::unique_ptr<Slot>> slots_;
  mutable std::mutex mutex_;  // guards the contents of the slots
  std::condition_variable changed_;
  bool is_stopped_ = false;
  bool has_begun_ = false;  // a model was loaded or failed to load
  struct Leaving {
    AnyModel model;
    std::filesystem::path path;
    uint64_t bytes = 0;
  };
  // Unloaded models until their last request has ended and they are freed; being freed, without
  // their pointers.
  std::vector<Leaving> leaving_;
  Thread watcher_;
};

}  // namespace pippin::server
