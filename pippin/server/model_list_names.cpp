#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "pippin/app/facts/model_facts.h"
#include "pippin/app/open/hub_model.h"
#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/server/api_error.h"
#include "pippin/server/model_names.h"
#include "pippin/server/model_slot.h"

namespace pippin::server {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostNames = 1024, kLongestName = 256;

}  // namespace

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
  // Functions of a package take no further adapters.
  const bool has_functions = slot.settings->choice.load.run_adapters.empty();
  try {
    if (has_functions) names = app::read_adapters(path);
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

// Names of the adapters in the settings, which share the loaded model.
void ModelList::add_run_adapters(Slot& slot) {
  for (const runtime::RunAdapter& adapter : slot.settings->choice.load.run_adapters) {
    auto made = std::make_unique<Slot>(
        ModelEntry{fmt::format("{}:{}", slot.entry.name, adapter.name), slot.entry.path},
        slot.settings);
    made->base = &slot;
    made->adapter = adapter.name;
    made->is_run_adapter = true;
    slots_.push_back(std::move(made));
  }
}

const ModelList::Slot& ModelList::holder_of(const Slot& slot) {
  return slot.is_run_adapter ? *slot.base : slot;
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
    Slot& added = *slots_.back();
    added.is_added = true;
    add_run_adapters(added);
  } else if (same->is_listed) {
    same->aliases.push_back(entry.name);
  } else {
    same->entry.name = entry.name;
    same->is_listed = true;
    for (const auto& slot : slots_) {
      if (slot->base != same || !slot->is_run_adapter) continue;
      slot->entry.name = fmt::format("{}:{}", same->entry.name, slot->adapter);
      slot->is_listed = true;
    }
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

}  // namespace pippin::server
