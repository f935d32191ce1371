// Details of the models of a server for its clients, whether or not they are loaded.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "pippin/app/facts/model_facts.h"
#include "pippin/server/model_list.h"

namespace pippin::server {

struct ModelDetails : app::ModelFacts {
  bool fills_in = false;  // known only for loaded models
};

// Thread-safe.
class ModelDescriber {
 public:
  explicit ModelDescriber(runtime::LoadOptions load) : load_(std::move(load)) {}

  // Returns nothing for a model that is neither loaded nor on this machine. Reads the files if they
  // are new or have changed; of files that cannot be read only the sizes are known.
  std::optional<ModelDetails> find(const ModelStatus& status);

 private:
  std::shared_ptr<const app::ModelFacts> facts_at(const std::string& path);

  const runtime::LoadOptions load_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const app::ModelFacts>> known_;  // by path
};

}  // namespace pippin::server
