#include "pippin/server/model_list.h"

#include <algorithm>
#include <set>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/server/api_error.h"
#include "pippin/server/model_slot.h"

namespace pippin::server {

ModelList::ModelList(ModelListOptions options)
    : options_(std::move(options)), settings_(std::make_shared<ModelSettings>(options_)) {
  if (options_.models.empty()) fail(ErrorCode::InvalidArgument, "no model to serve");
  std::set<std::string> names;
  const auto check_name = [&](const std::string& name) {
    if (names.insert(name).second) return;
    fail(ErrorCode::InvalidArgument, "two models are called {}: name them with NAME=PATH", name);
  };
  for (const ModelEntry& entry : options_.models) {
    check_name(entry.name);
    std::for_each(entry.aliases.begin(), entry.aliases.end(), check_name);
    Slot* const same = find_same(entry);
    if (same == nullptr) {
      slots_.push_back(std::make_unique<Slot>(entry, settings_));
    } else {
      same->aliases.push_back(entry.name);
      same->aliases.insert(same->aliases.end(), entry.aliases.begin(), entry.aliases.end());
      same->own_aliases = same->aliases.size();
    }
  }
  for (size_t i = slots_.size(); i-- > 0;) add_run_adapters(*slots_[i]);
  for (const auto& slot : slots_) {
    if (slot->is_run_adapter) check_name(slot->entry.name);
  }
  has_begun_ = names_at_start().empty();
  watcher_ = Thread([this] { watch(); });
}

ModelList::~ModelList() {
  stop();
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void ModelList::stop() {
  std::unique_lock lock(mutex_);
  is_stopped_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] {
    return std::none_of(slots_.begin(), slots_.end(),
                        [](const auto& slot) { return slot->state == ModelState::Loading; });
  });
  for (const auto& slot : slots_) {
    if (slot->is_loaded()) unload_slot(*slot);
  }
}

std::shared_ptr<ServedModel> ModelList::get(const std::string& name) {
  OpenedModel opened = open(name);
  if (opened.model != nullptr) return opened.model;
  const char* const kind = opened.speech != nullptr    ? "takes recordings, not texts"
                           : opened.encoder == nullptr ? "takes images and writes no texts"
                                                       : "embeds or scores texts and writes none";
  throw ApiError(400, "the model \"" + opened.name + "\" " + kind, "model");
}

OpenedModel ModelList::open(const std::string& name) {
  find_adapters_for(name);
  std::unique_lock lock(mutex_);
  Slot& named = find(name);
  Slot& slot = holder_of(named);
  changed_.wait(lock, [&] { return is_stopped_ || slot.state != ModelState::Loading; });
  if (is_stopped_) throw ApiError(503, "the server is ending");
  if (slot.state == ModelState::Ready) {
    if (const auto changed = find_change(slot)) {
      log_warn("model {}: {} was written to since it was loaded: it is loaded again",
               slot.entry.name, *changed);
      unload_slot(slot);
      slot.is_examined = false;
    }
  }
  if (slot.state != ModelState::Ready) load(slot, lock);
  slot.used = Clock::now();
  return {slot.held(), named.entry.name, named.is_run_adapter ? named.adapter : std::string(),
          slot.first_mapping};
}

void ModelList::unload(const std::string& name) {
  const std::lock_guard lock(mutex_);
  Slot& slot = holder_of(find(name));
  if (slot.state == ModelState::Loading) {
    throw ApiError(503, "the model \"" + name + "\" is being loaded", "model");
  }
  if (slot.is_loaded()) unload_slot(slot);
}

void ModelList::keep(const std::string& name, std::chrono::milliseconds time) {
  const std::lock_guard lock(mutex_);
  holder_of(find(name)).keep_alive = time;
  changed_.notify_all();
}

std::chrono::milliseconds ModelList::keep_alive_of(const Slot& slot) const {
  if (slot.settings->is_pinned) return std::chrono::milliseconds(-1);
  return slot.keep_alive.value_or(slot.settings->keep_alive);
}

std::shared_ptr<Embedder> ModelList::embedder(ServedModel& model) try {
  const std::lock_guard lock(model.embedder_mutex);
  if (model.embedder == nullptr) model.embedder = std::make_shared<Embedder>(model.choice);
  return model.embedder;
} catch (const Error& error) {
  throw api_error(error);
}

ModelStatus ModelList::status_of(const Slot& named) const {
  const Slot& slot = holder_of(named);
  ModelStatus status{slot.held()};
  status.name = named.entry.name;
  status.path = slot.entry.path;
  if (named.base != nullptr) status.base = named.base->entry.name;
  status.shares_model = named.is_run_adapter;
  status.aliases = named.aliases;
  status.state = slot.state;
  status.error = slot.error;
  status.created = slot.created;
  status.bytes = slot.bytes;
  const auto keep_alive = keep_alive_of(slot);
  if (slot.is_loaded() && keep_alive.count() >= 0) {
    using SystemClock = std::chrono::system_clock;
    status.expires = SystemClock::now() + std::chrono::duration_cast<SystemClock::duration>(
                                              slot.used + keep_alive - Clock::now());
  }
  return status;
}

std::shared_ptr<const ModelSettings> ModelList::settings(const std::string& name) {
  find_adapters_for(name);
  const std::lock_guard lock(mutex_);
  const Slot* const slot = find_slot(name);
  return slot == nullptr ? nullptr : slot->settings;
}

std::vector<std::string> ModelList::names_at_start() const {
  std::vector<std::string> names;
  const std::lock_guard lock(mutex_);
  for (const auto& slot : slots_) {
    if (slot->base != nullptr) continue;
    const bool is_usual = slot == slots_.front() || slot->settings->is_pinned;
    if (slot->settings->loads_at_start.value_or(is_usual)) names.push_back(slot->entry.name);
  }
  return names;
}

std::vector<ModelStatus> ModelList::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<ModelStatus> result;
  for (const auto& slot : slots_) {
    if (slot->is_listed) result.push_back(status_of(*slot));
  }
  return result;
}

ModelStatus ModelList::status(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return status_of(find(name));
}

bool ModelList::is_ready() const {
  const std::lock_guard lock(mutex_);
  const auto count = [&](ModelState state) {
    return std::count_if(slots_.begin(), slots_.end(),
                         [&](const auto& slot) { return slot->state == state; });
  };
  return has_begun_ && (count(ModelState::Ready) > 0 || count(ModelState::Loading) == 0);
}

}  // namespace pippin::server
