#include <iterator>
#include <string_view>
#include <utility>

#include "pippin/c/boundary.h"
#include "pippin/c/handles.h"

namespace pippin::c {
namespace {

constexpr std::pair<std::string_view, std::string ModelMetadata::*> kFields[] = {
    {"author", &ModelMetadata::author},
    {"license", &ModelMetadata::license},
    {"short_description", &ModelMetadata::short_description},
    {"version", &ModelMetadata::version},
};

}  // namespace

std::map<std::string, std::string, std::less<>> metadata_of(const Model& model) {
  const ModelMetadata& metadata = model.metadata();
  std::map<std::string, std::string, std::less<>> found(metadata.user_defined.begin(),
                                                        metadata.user_defined.end());
  for (const auto& [key, field] : kFields) {
    if (!(metadata.*field).empty()) found.insert_or_assign(std::string(key), metadata.*field);
  }
  return found;
}

}  // namespace pippin::c

const char* pippin_model_metadata(const pippin_model* model, const char* key) {
  if (model == nullptr || key == nullptr) return nullptr;
  const auto found = model->metadata.find(std::string_view(key));
  return found == model->metadata.end() ? nullptr : found->second.c_str();
}

int64_t pippin_model_metadata_count(const pippin_model* model) {
  return model == nullptr ? 0 : std::ssize(model->metadata);
}

const char* pippin_model_metadata_key(const pippin_model* model, int64_t index) {
  if (index < 0 || index >= pippin_model_metadata_count(model)) return nullptr;
  return std::next(model->metadata.begin(), index)->first.c_str();
}
