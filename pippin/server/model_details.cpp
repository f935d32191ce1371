#include "pippin/server/model_details.h"

#include <span>
#include <utility>

#include "pippin/app/open/hub_model.h"
#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/io/digest.h"
#include "pippin/server/fill_in.h"

namespace pippin::server {
namespace {

// Loaded models override the files: options of the server change context and template.
void read_loaded(const ServedModel& model, ModelDetails& details) {
  details.context = model.loaded.model->context();
  details.template_source = model.template_source;
  details.takes_tools = model.takes_tools && model.calls != nullptr;
  details.thinks = model.reasoning != nullptr;
  details.fills_in = can_fill_in(model);
  if (details.architecture.empty()) details.architecture = app::architecture_of(model.loaded);
}

}  // namespace

std::shared_ptr<const app::ModelFacts> ModelDescriber::facts_at(const std::string& path) {
  const app::FileFacts files = app::read_file_facts(path);
  {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(path);
    if (found != known_.end() && found->second->files.digest == files.digest) return found->second;
  }
  auto facts = std::make_shared<app::ModelFacts>();
  try {
    *facts = app::read_model_facts(path, load_);
  } catch (const Error& error) {
    // The list continues without its details; they are known once it is loaded.
    log_warn("{} cannot be described: {}", path, error.what());
    *facts = {.files = files};
  }
  const std::lock_guard lock(mutex_);
  return known_[path] = std::move(facts);
}

std::optional<ModelDetails> ModelDescriber::find(const ModelStatus& status) {
  ModelDetails details;
  if (status.path.empty()) {
    details.files.modified = status.created;
    Digest digest = Digest::sha256();
    digest.update(std::as_bytes(std::span(status.name)));
    details.files.digest = digest.finish();
  } else if (const auto path = app::find_local_model(status.path)) {
    static_cast<app::ModelFacts&>(details) = *facts_at(*path);
  } else {
    return std::nullopt;
  }
  if (status.model != nullptr) read_loaded(*status.model, details);
  return details;
}

}  // namespace pippin::server
