#include "pippin/server/model_list.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "pippin/app/facts/model_facts.h"
#include "pippin/app/open/hub_model.h"
#include "pippin/app/prompt_tokens.h"
#include "pippin/base/error.h"
#include "pippin/base/files/mapped_guard.h"
#include "pippin/base/log.h"
#include "pippin/base/stopwatch.h"
#include "pippin/base/text.h"
#include "pippin/model_output/read_syntax.h"
#include "pippin/runtime/sequence.h"
#include "pippin/scheduling/block_pool.h"
#include "pippin/server/api_error.h"
#include "pippin/server/model_names.h"
#include "pippin/server/thinking.h"

namespace pippin::server {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr size_t kMostNames = 1024, kLongestName = 256;

// Returns the total size of the files under a path; 0 for inaccessible ones.
uint64_t bytes_at(const fs::path& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return fs::file_size(path, error);
  uint64_t bytes = 0;
  for (auto it = fs::recursive_directory_iterator(
           path, fs::directory_options::skip_permission_denied, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    if (it->is_regular_file(ignored)) bytes += it->file_size(ignored);
  }
  return bytes;
}

// "; context 131072; memory for 400000 tokens of all conversations, 1.2 GB, and 600 MB of kept
// prompts"
std::string sizes_of(const ServedModel& model) {
  std::string text = fmt::format("; context {}", model.loaded.model->context());
  const int64_t tokens = model.scheduler->state().blocks * scheduling::kBlockTokens;
  if (tokens == 0) return text;
  const uint64_t bytes = model.loaded.model->new_sequence()->row_layout().row_bytes();
  text += fmt::format("; memory for {} tokens of all conversations, {}", tokens,
                      format_bytes(bytes * static_cast<uint64_t>(tokens)));
  const auto kept = static_cast<uint64_t>(model.scheduler->state().cache.ram_limit);
  return kept == 0 || bytes == 0
             ? text
             : text + fmt::format(", and {} of kept prompts", format_bytes(kept));
}

// The settings' sampling becomes the default of requests, and clients see it as the model's.
void set_sampling(const app::SamplingChoice& choice, runtime::LoadedModel& loaded) {
  if (choice == app::SamplingChoice{}) return;
  if (loaded.model->capabilities().greedy_only) {
    choice.greedy_only();
  } else {
    loaded.config.sampling = choice.over(loaded.config.sampling, loaded.tokenizer);
  }
}

// Whether a file is the model, is inside its folder, or is another part of it
// (x-00001-of-00002.gguf).
bool belongs_to(const fs::path& file, const fs::path& model) {
  const std::string name = file.lexically_normal().string();
  std::string stem = model.lexically_normal().string();
  if (name == stem) return true;
  constexpr std::string_view kPiece = "-00001-of-";
  const size_t piece = stem.rfind(kPiece);
  if (piece != std::string::npos) return name.starts_with(stem.substr(0, piece + 1));
  if (!stem.ends_with('/')) stem += '/';
  return !model.empty() && name.starts_with(stem);
}

}  // namespace

ServedModel::ServedModel(std::string called, runtime::LoadedModel opened,
                         const scheduling::SchedulerOptions& options)
    : name(std::move(called)),
      loaded(std::move(opened)),
      end_ids(app::end_tokens(loaded, false)),
      chat_end_ids(app::end_tokens(loaded, true)),
      forms(std::make_unique<app::FormCompiler>(loaded.tokenizer)) {
  if (loaded.chat_template) {
    template_source = loaded.chat_template->source();
    auto marks = model_output::find_reasoning(*loaded.chat_template, &loaded.tokenizer);
    if (marks) reasoning = std::make_shared<model_output::ReasoningMarks>(std::move(*marks));
    thinking_switch = find_thinking_switch(*loaded.chat_template);
    takes_tools = model_output::takes_tools(*loaded.chat_template);
    auto syntax = model_output::read_call_syntax(*loaded.chat_template);
    if (syntax) calls = std::make_shared<model_output::CallSyntax>(std::move(*syntax));
  }
  scheduler = std::make_unique<scheduling::Scheduler>(loaded.model, loaded.tokenizer, options);
}

struct ModelList::Slot {
  Slot(ModelEntry what, const std::shared_ptr<const ModelSettings>& otherwise)
      : entry(std::move(what)),
        settings(entry.settings == nullptr ? otherwise : entry.settings),
        aliases(entry.aliases),
        own_aliases(aliases.size()),
        created(std::chrono::duration_cast<std::chrono::seconds>(
                    std::chrono::system_clock::now().time_since_epoch())
                    .count()) {}

  ModelEntry entry;
  const std::shared_ptr<const ModelSettings> settings;
  std::vector<std::string> aliases;
  size_t own_aliases;  // the first ones: those of the entry
  ModelState state = ModelState::Absent;
  std::string error;
  std::shared_ptr<ServedModel> model;  // one of these two is set if it is loaded
  std::shared_ptr<const app::TextEncoder> encoder;
  uint64_t bytes = 0;  // of its files, while it is loaded or loading
  fs::path path;       // of its files; empty: built into this program
  uint64_t first_mapping = 0;
  Clock::time_point used{};
  int64_t created;
  bool is_added = false;  // by a client
  Slot* base = nullptr;   // of an adapter: the model that it belongs to
  std::string adapter;
  bool is_examined = false;  // its adapters are on the list
  // False once it was removed; requests may still hold the slot.
  bool is_listed = true;
  std::optional<std::chrono::milliseconds> keep_alive;  // of the last request that set one

  bool is_loaded() const { return model != nullptr || encoder != nullptr; }
  // Whether requests hold the model in addition to the slot.
  bool is_in_use() const { return model.use_count() > 1 || encoder.use_count() > 1; }
};

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

ModelList::Slot* ModelList::find_same(const ModelEntry& entry) const {
  for (const auto& slot : slots_) {
    if (slot->base == nullptr && slot->entry.path == entry.path &&
        slot->entry.settings == entry.settings) {
      return slot.get();
    }
  }
  return nullptr;
}

ModelList::Slot* ModelList::look_up(std::string_view name) const {
  for (const auto& slot : slots_) {
    if (!slot->is_listed) continue;
    const auto& others = slot->aliases;
    if (slot->entry.name == name || std::find(others.begin(), others.end(), name) != others.end()) {
      return slot.get();
    }
  }
  return nullptr;
}

// Whole names come first: ollama's names contain colons, too.
ModelList::Slot* ModelList::find_slot(const std::string& name) const {
  if (name.empty()) return slots_.front().get();
  if (Slot* const slot = look_up(name)) return slot;
  if (Slot* const slot = look_up(plain_name(name))) return slot;
  const Slot* const base = find_base(name);
  if (base == nullptr) return nullptr;
  for (const auto& slot : slots_) {
    if (slot->base == base && slot->is_listed && name.ends_with(":" + slot->adapter)) {
      return slot.get();
    }
  }
  return nullptr;
}

ModelList::Slot* ModelList::find_base(const std::string& name) const {
  const size_t colon = name.rfind(':');
  if (colon == std::string::npos || colon == 0) return nullptr;
  const std::string before = name.substr(0, colon);
  Slot* const slot = look_up(before);
  return slot == nullptr ? look_up(plain_name(before)) : slot;
}

void ModelList::find_adapters() {
  std::vector<Slot*> slots;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& slot : slots_) slots.push_back(slot.get());
  }
  for (Slot* const slot : slots) {
    if (slot->entry.path.empty()) continue;
    if (const auto path = app::find_local_model(slot->entry.path)) add_adapters(*slot, *path);
  }
}

void ModelList::find_adapters_for(const std::string& name) {
  std::unique_lock lock(mutex_);
  Slot* const base = find_slot(name) == nullptr ? find_base(name) : nullptr;
  if (base == nullptr || base->is_examined || base->entry.path.empty()) return;
  lock.unlock();
  if (const auto path = app::find_local_model(base->entry.path)) add_adapters(*base, *path);
}

// Skips an adapter that the settings name: it is the model itself.
void ModelList::add_adapters(Slot& slot, const fs::path& path) {
  {
    const std::lock_guard lock(mutex_);
    if (slot.is_examined || slot.base != nullptr) return;
  }
  std::vector<std::string> names;
  try {
    names = app::read_adapters(path);
  } catch (const Error& error) {
    log_warn("{} cannot be asked for its adapters: {}", slot.entry.name, error.what());
  }
  const std::lock_guard lock(mutex_);
  slot.is_examined = true;
  for (const std::string& name : names) {
    const std::string whole = slot.entry.name + ":" + name;
    if (look_up(whole) != nullptr) continue;
    auto made = std::make_unique<Slot>(ModelEntry{whole, slot.entry.path}, slot.settings);
    made->base = &slot;
    made->adapter = name;
    slots_.push_back(std::move(made));
  }
}

ModelList::Slot& ModelList::find(const std::string& name) const {
  if (Slot* const slot = find_slot(name)) return *slot;
  const Slot* const base = find_base(name);
  std::string known;
  for (const auto& slot : slots_) {
    if (base != nullptr && slot->base != base) continue;
    if (!slot->is_listed) continue;
    known += (known.empty() ? "" : ", ") + slot->entry.name;
    for (const std::string& alias : slot->aliases) known += ", " + alias;
  }
  if (base != nullptr) {
    throw ApiError(404,
                   fmt::format("unknown model \"{}\": {} has {}", name, base->entry.name,
                               known.empty() ? "no adapters" : "only " + known),
                   "model", "model_not_found");
  }
  throw ApiError(404, "unknown model \"" + name + "\" (known: " + known + ")", "model",
                 "model_not_found");
}

std::shared_ptr<ServedModel> ModelList::get(const std::string& name) {
  OpenedModel opened = open(name);
  if (opened.model != nullptr) return opened.model;
  throw ApiError(400, "the model \"" + opened.name + "\" embeds or scores texts and writes none",
                 "model");
}

OpenedModel ModelList::open(const std::string& name) {
  find_adapters_for(name);
  std::unique_lock lock(mutex_);
  Slot& slot = find(name);
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
  return {slot.model, slot.encoder, slot.entry.name, slot.first_mapping};
}

// Files outside all models' folders, such as those of the load cache, may belong to any model.
bool ModelList::is_of(const FileOrigin& file, const Slot& slot, uint64_t first_mapping) const {
  if (file.mapping < first_mapping) return false;
  if (belongs_to(file.path, slot.path)) return true;
  return std::none_of(slots_.begin(), slots_.end(),
                      [&](const auto& other) { return belongs_to(file.path, other->path); });
}

std::optional<std::string> ModelList::find_change(const Slot& slot) const {
  for (const FileOrigin& file : mapped_files()) {
    if (file.mapping >= slot.first_mapping && belongs_to(file.path, slot.path) &&
        was_written_to(file)) {
      return file.path.filename().string();
    }
  }
  return find_damage(slot, slot.first_mapping);
}

std::optional<std::string> ModelList::find_damage(const Slot& slot, uint64_t first_mapping) const {
  if (num_damaged_files() == 0) return std::nullopt;
  for (const FileOrigin& file : mapped_files()) {
    if (file.damaged && is_of(file, slot, first_mapping)) return file.path.filename().string();
  }
  return std::nullopt;
}

void ModelList::check_files(const OpenedModel& opened) {
  std::unique_lock lock(mutex_);
  Slot& slot = find(opened.name);
  lock.unlock();
  check_files(slot, opened.first_mapping);
}

// Called by any thread, including the model's scheduler.
void ModelList::check_files(Slot& slot, uint64_t first_mapping) {
  const std::lock_guard lock(mutex_);
  const auto damaged = find_damage(slot, first_mapping);
  if (!damaged) return;
  const std::string what = fmt::format(
      "model {}: {} can no longer be read: it was cut off while it was used, or its disk failed",
      slot.entry.name, *damaged);
  if (slot.is_loaded() && slot.first_mapping == first_mapping) {
    log_warn("{}", what);
    unload_slot(slot);
  }
  throw ApiError(500, what, "model");
}

void ModelList::unload(const std::string& name) {
  const std::lock_guard lock(mutex_);
  Slot& slot = find(name);
  if (slot.state == ModelState::Loading) {
    throw ApiError(503, "the model \"" + name + "\" is being loaded", "model");
  }
  if (slot.is_loaded()) unload_slot(slot);
}

void ModelList::keep(const std::string& name, std::chrono::milliseconds time) {
  const std::lock_guard lock(mutex_);
  find(name).keep_alive = time;
  changed_.notify_all();
}

std::chrono::milliseconds ModelList::keep_alive_of(const Slot& slot) const {
  if (slot.settings->is_pinned) return std::chrono::milliseconds(-1);
  return slot.keep_alive.value_or(slot.settings->keep_alive);
}

void ModelList::check_new(const std::string& name) const {
  size_t count = 0;
  for (const auto& slot : slots_) count += 1 + slot->aliases.size();
  if (count >= kMostNames) {
    throw ApiError(400, fmt::format("there are {} names of models already", count));
  }
  const bool is_plain =
      !name.empty() && name.size() <= kLongestName &&
      std::all_of(name.begin(), name.end(), [](unsigned char c) { return c > ' ' && c < 0x7F; });
  if (!is_plain) throw ApiError(400, "\"" + name + "\" cannot be the name of a model");
  if (look_up(name) != nullptr) {
    throw ApiError(400, "there is a model \"" + name + "\" already");
  }
}

void ModelList::add(const ModelEntry& entry) {
  const std::lock_guard lock(mutex_);
  const Slot* const known = look_up(entry.name);
  if (known != nullptr && known->entry.path == entry.path) return;
  check_new(entry.name);
  Slot* const same = find_same(entry);
  if (same == nullptr) {
    slots_.push_back(std::make_unique<Slot>(entry, settings_));
    slots_.back()->is_added = true;
  } else if (same->is_listed) {
    same->aliases.push_back(entry.name);
  } else {
    same->entry.name = entry.name;
    same->is_listed = true;
  }
}

void ModelList::add_alias(const std::string& name, const std::string& alias) {
  const std::lock_guard lock(mutex_);
  Slot& slot = find(name);
  if (look_up(alias) == &slot) return;
  check_new(alias);
  slot.aliases.push_back(alias);
}

std::optional<std::string> ModelList::remove(const std::string& name) {
  const std::lock_guard lock(mutex_);
  Slot& slot = find(name);
  const auto refuse = [&] {
    throw ApiError(403, "the model \"" + name + "\" was named when the server started, and stays",
                   "model");
  };
  auto& aliases = slot.aliases;
  auto alias = std::find(aliases.begin(), aliases.end(), name);
  if (alias == aliases.end()) alias = std::find(aliases.begin(), aliases.end(), plain_name(name));
  if (alias != aliases.end()) {
    if (static_cast<size_t>(alias - aliases.begin()) < slot.own_aliases) refuse();
    aliases.erase(alias);
    return std::nullopt;
  }
  if (slot.base != nullptr) {
    throw ApiError(
        403,
        fmt::format("\"{}\" is an adapter of {}, and goes with it", name, slot.base->entry.name),
        "model");
  }
  if (!slot.is_added) refuse();
  const auto each_adapter = [&](const auto& take) {
    for (const auto& other : slots_) {
      if (other->base == &slot) take(*other);
    }
  };
  if (!aliases.empty()) {
    slot.entry.name = aliases.front();
    aliases.erase(aliases.begin());
    each_adapter([&](Slot& one) { one.entry.name = slot.entry.name + ":" + one.adapter; });
    return std::nullopt;
  }
  if (slot.state == ModelState::Loading) {
    throw ApiError(503, "the model \"" + name + "\" is being loaded", "model");
  }
  each_adapter([&](Slot& one) {
    if (one.is_loaded()) unload_slot(one);
    one.is_listed = false;
  });
  if (slot.is_loaded()) unload_slot(slot);
  slot.is_listed = slot.is_examined = false;
  return slot.entry.path;
}

// Meanwhile other requests wait for this model, or use other models.
void ModelList::load(Slot& slot, std::unique_lock<std::mutex>& lock) {
  slot.state = ModelState::Loading;
  lock.unlock();
  std::shared_ptr<ServedModel> made;
  std::shared_ptr<const app::TextEncoder> encoder;
  std::string error;
  std::optional<ApiError> refusal;
  fs::path path;
  const uint64_t first_mapping = next_mapping();
  try {
    const auto start = Clock::now();
    const ModelSettings& settings = *slot.settings;
    app::ModelChoice choice = settings.choice;
    choice.path = slot.entry.path;
    if (!choice.path.empty()) {
      path = app::resolve_model(choice.path, app::ModelPart::All, choice.pulls);
      const std::lock_guard guard(mutex_);
      slot.path = path;
    }
    if (!path.empty()) add_adapters(slot, path);
    if (slot.base != nullptr) choice.load.adapter = slot.adapter;
    const uint64_t bytes = path.empty() ? 0 : bytes_at(path);
    make_room(slot, bytes);
    if (!path.empty() && app::is_text_encoder(path)) {
      encoder = std::make_shared<const app::TextEncoder>(app::TextEncoder::open(choice));
    } else {
      runtime::LoadedModel loaded = app::open_model(choice);
      set_sampling(settings.sampling, loaded);
      scheduling::SchedulerOptions scheduler = settings.scheduler;
      scheduler.drafts = app::open_drafts(settings.draft, loaded, choice);
      scheduler.check_files = [this, &slot, first_mapping] { check_files(slot, first_mapping); };
      made = std::make_shared<ServedModel>(slot.entry.name, std::move(loaded), scheduler);
      made->bytes = bytes;
      made->choice = choice;
      made->choice.load.context = made->loaded.model->context();
      made->load_seconds = seconds_since(start);
    }
    log_info("model {}: loaded in {:.2f} s{}", slot.entry.name, seconds_since(start),
             made == nullptr ? "" : sizes_of(*made));
  } catch (const ApiError& failure) {
    refusal = failure;
  } catch (const std::exception& failure) {
    error = failure.what();
  }
  lock.lock();
  slot.first_mapping = first_mapping;
  if (error.empty() && !refusal) {
    if (const auto damaged = find_damage(slot, first_mapping)) {
      error = *damaged + " could not be read: it was cut off while it was read, or its disk failed";
      made.reset();
      encoder.reset();
    }
  }
  has_begun_ = true;
  slot.error = error;
  slot.state = refusal         ? ModelState::Absent
               : error.empty() ? ModelState::Ready
                               : ModelState::Failed;
  if (slot.state == ModelState::Ready) {
    slot.model = std::move(made);
    slot.encoder = std::move(encoder);
  } else {
    slot.bytes = 0;
  }
  slot.used = Clock::now();
  changed_.notify_all();
  if (refusal) throw *refusal;
  if (!error.empty()) throw ApiError(500, "model " + slot.entry.name + ": " + error, "model");
}

struct ModelList::Taken {
  uint64_t bytes = 0, pinned_bytes = 0;
  std::string pinned;  // names
};

// Returns the bytes of other models' files.
ModelList::Taken ModelList::taken_by_others(const Slot& slot) const {
  Taken taken;
  std::set<fs::path> counted = {slot.path};
  const auto count = [&](const fs::path& path, uint64_t bytes) {
    if (bytes == 0 || !counted.insert(path).second) return uint64_t{0};
    taken.bytes += bytes;
    return bytes;
  };
  // Counts pinned models first, so that shared files count as theirs.
  for (const bool is_pinned : {true, false}) {
    for (const auto& other : slots_) {
      if (other.get() == &slot || other->settings->is_pinned != is_pinned) continue;
      const uint64_t bytes = count(other->path, other->bytes);
      if (!is_pinned || bytes == 0) continue;
      taken.pinned_bytes += bytes;
      taken.pinned += (taken.pinned.empty() ? "" : ", ") + other->entry.name;
    }
  }
  for (const Leaving& leaving : leaving_) count(leaving.path, leaving.bytes);
  return taken;
}

// Unloads idle models first, starting with the least recently used, then models with running
// requests, whose memory is free when these end. Loading models have reserved their memory.
void ModelList::make_room(Slot& slot, uint64_t bytes) {
  std::unique_lock lock(mutex_);
  const auto give_up = Clock::now() + options_.room_wait;
  while (options_.max_bytes > 0) {
    if (is_stopped_) throw ApiError(503, "the server is ending");
    const Taken taken = taken_by_others(slot);
    if (taken.bytes == 0 || bytes + taken.bytes <= options_.max_bytes) break;
    if (taken.pinned_bytes > 0 && bytes + taken.pinned_bytes > options_.max_bytes) {
      throw ApiError(503, fmt::format("model {}: no room for its {} bytes: pinned models "
                                      "({}) take {} of {}",
                                      slot.entry.name, bytes, taken.pinned, taken.pinned_bytes,
                                      options_.max_bytes));
    }
    Slot* next = nullptr;
    for (const auto& other : slots_) {
      if (other.get() == &slot || !other->is_loaded() || other->settings->is_pinned) continue;
      if (other->path == slot.path) continue;  // its files stay mapped
      const auto order = [](const Slot& one) { return std::pair(one.is_in_use(), one.used); };
      if (next == nullptr || order(*other) < order(*next)) next = other.get();
    }
    if (next != nullptr) {
      unload_slot(*next);
    } else if (changed_.wait_until(lock, give_up) == std::cv_status::timeout) {
      throw ApiError(503,
                     fmt::format("model {}: no room for its {} bytes: models that load or still "
                                 "answer take {} of {}{}",
                                 slot.entry.name, bytes, taken.bytes, options_.max_bytes,
                                 taken.pinned.empty() ? "" : ", pinned ones: " + taken.pinned));
    }
  }
  slot.bytes = bytes;
}

// Running requests keep the model. Another thread destroys it: a scheduler must not end in its own
// thread.
void ModelList::unload_slot(Slot& slot) {
  log_info("model {}: unloaded", slot.entry.name);
  leaving_.push_back({std::move(slot.model), std::move(slot.encoder), slot.path, slot.bytes});
  slot.model.reset();
  slot.encoder.reset();
  slot.bytes = 0;
  slot.state = ModelState::Absent;
  slot.keep_alive.reset();
  changed_.notify_all();
}

void ModelList::watch() {
  std::unique_lock lock(mutex_);
  for (;;) {
    std::vector<Leaving> gone;
    for (Leaving& leaving : leaving_) {
      if (leaving.model.use_count() > 1 || leaving.encoder.use_count() > 1) continue;
      gone.push_back({std::move(leaving.model), std::move(leaving.encoder), {}, 0});
    }
    if (!gone.empty()) {
      lock.unlock();
      gone.clear();
      lock.lock();
      std::erase_if(leaving_, [](const Leaving& leaving) {
        return leaving.model == nullptr && leaving.encoder == nullptr;
      });
      changed_.notify_all();
    }
    if (is_stopped_ && leaving_.empty()) return;
    changed_.wait_for(lock, leaving_.empty() ? 1s : 10ms);
    if (is_stopped_) continue;
    for (const auto& slot : slots_) {
      const auto keep_alive = keep_alive_of(*slot);
      if (!slot->is_loaded() || keep_alive.count() < 0) continue;
      if (slot->is_in_use()) {
        slot->used = Clock::now();
      } else if (Clock::now() - slot->used >= keep_alive) {
        unload_slot(*slot);
      }
    }
  }
}

std::shared_ptr<Embedder> ModelList::embedder(ServedModel& model) try {
  const std::lock_guard lock(model.embedder_mutex);
  if (model.embedder == nullptr) model.embedder = std::make_shared<Embedder>(model.choice);
  return model.embedder;
} catch (const Error& error) {
  throw api_error(error);
}

ModelStatus ModelList::status_of(const Slot& slot) const {
  ModelStatus status;
  status.name = slot.entry.name;
  status.path = slot.entry.path;
  status.aliases = slot.aliases;
  status.state = slot.state;
  status.error = slot.error;
  status.created = slot.created;
  status.model = slot.model;
  status.encoder = slot.encoder;
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
