// A model on the list, loaded or not: internal to the ModelList.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pippin/server/model_list.h"

namespace pippin::server {

struct ModelList::Slot : AnyModel {
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
  uint64_t bytes = 0;          // of its files, while it is loaded or loading
  std::filesystem::path path;  // of its files; empty: built into this program
  uint64_t first_mapping = 0;
  Clock::time_point used{};
  int64_t created;
  bool is_added = false;  // by a client
  Slot* base = nullptr;   // of an adapter: the model that it belongs to
  std::string adapter;
  // An adapter that runs of the base add: the base is loaded for it.
  bool is_run_adapter = false;
  bool is_examined = false;  // its adapters are on the list
  // False once it was removed; requests may still hold the slot.
  bool is_listed = true;
  std::optional<std::chrono::milliseconds> keep_alive;  // of the last request that set one
};

}  // namespace pippin::server
