#include <set>
#include <utility>

#include <fmt/format.h>

#include "pippin/app/open/hub_model.h"
#include "pippin/base/error.h"
#include "pippin/base/files/mapped_guard.h"
#include "pippin/base/log.h"
#include "pippin/base/stopwatch.h"
#include "pippin/base/text.h"
#include "pippin/runtime/sequence.h"
#include "pippin/scheduling/block_pool.h"
#include "pippin/server/api_error.h"
#include "pippin/server/model_slot.h"

namespace pippin::server {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

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

}  // namespace

// Meanwhile other requests wait for this model, or use other models.
void ModelList::load(Slot& slot, std::unique_lock<std::mutex>& lock) {
  slot.state = ModelState::Loading;
  lock.unlock();
  AnyModel opened;
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
      path = app::resolve_choice(choice, false).path;
      const std::lock_guard guard(mutex_);
      slot.path = path;
    }
    if (!path.empty()) add_adapters(slot, path);
    if (slot.base != nullptr) choice.load.adapter = slot.adapter;
    choice.load.prediction = app::uses_prediction(settings.draft);
    const uint64_t bytes = path.empty() ? 0 : bytes_at(path);
    make_room(slot, bytes);
    const bool has_adapters = !choice.load.run_adapters.empty();
    const bool embeds_texts = !path.empty() && app::is_text_encoder(path);
    const bool takes_images = !path.empty() && app::ImageEncoder::is_in(path);
    const bool is_speech = !path.empty() && app::is_speech_model(path);
    if (has_adapters && (embeds_texts || takes_images || is_speech)) {
      fail(ErrorCode::Unsupported, "adapters (--lora) are for models that write texts");
    }
    if (embeds_texts || takes_images) {
      if (embeds_texts) {
        opened.encoder = std::make_shared<const app::TextEncoder>(app::TextEncoder::open(choice));
      }
      if (takes_images) {
        opened.images = std::make_shared<const app::ImageEncoder>(app::ImageEncoder::open(choice));
      }
    } else if (is_speech) {
      opened.speech = std::make_shared<const app::SpeechToText>(app::SpeechToText::open(choice));
    } else {
      runtime::LoadedModel loaded = app::open_model(choice);
      set_sampling(settings.sampling, loaded);
      scheduling::SchedulerOptions scheduler = settings.scheduler;
      scheduler.drafts = app::open_drafts(settings.draft, loaded, choice);
      scheduler.check_files = [this, &slot, first_mapping] { check_files(slot, first_mapping); };
      const auto made =
          std::make_shared<ServedModel>(slot.entry.name, std::move(loaded), scheduler);
      opened.model = made;
      made->bytes = bytes;
      made->allows_remote_images = options_.allows_remote_images;
      made->choice = choice;
      made->choice.load.context = made->loaded.model->context();
      made->load_seconds = seconds_since(start);
    }
    log_info("model {}: loaded in {:.2f} s{}", slot.entry.name, seconds_since(start),
             opened.model == nullptr ? "" : sizes_of(*opened.model));
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
      opened = {};
    }
  }
  has_begun_ = true;
  slot.error = error;
  slot.state = refusal         ? ModelState::Absent
               : error.empty() ? ModelState::Ready
                               : ModelState::Failed;
  if (slot.state == ModelState::Ready) {
    static_cast<AnyModel&>(slot) = std::move(opened);
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
      const auto order = [](const Slot& one) { return std::pair(one.is_shared(), one.used); };
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
  leaving_.push_back({std::exchange(static_cast<AnyModel&>(slot), {}), slot.path, slot.bytes});
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
      if (leaving.model.is_shared()) continue;
      gone.push_back({std::exchange(leaving.model, {}), {}, 0});
    }
    if (!gone.empty()) {
      lock.unlock();
      gone.clear();
      lock.lock();
      std::erase_if(leaving_, [](const Leaving& leaving) { return !leaving.model.is_loaded(); });
      changed_.notify_all();
    }
    if (is_stopped_ && leaving_.empty()) return;
    changed_.wait_for(lock, leaving_.empty() ? 1s : 10ms);
    if (is_stopped_) continue;
    for (const auto& slot : slots_) {
      const auto keep_alive = keep_alive_of(*slot);
      if (!slot->is_loaded() || keep_alive.count() < 0) continue;
      if (slot->is_shared()) {
        slot->used = Clock::now();
      } else if (Clock::now() - slot->used >= keep_alive) {
        unload_slot(*slot);
      }
    }
  }
}

}  // namespace pippin::server
