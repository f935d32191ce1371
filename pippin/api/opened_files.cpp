#include "pippin/api/opened_files.h"

#include <algorithm>

#include "pippin/base/error.h"

namespace pippin::api {

OpenedFiles::OpenedFiles(const mil::Model& model) {
  add(model);
}

void OpenedFiles::add(const mil::Model& model) {
  for (const auto& [name, function] : model.program.functions) {
    mil::for_each_operation(function->block(), [&](const mil::Operation& operation) {
      const mil::Value* value = operation.constant_value();
      if (value == nullptr || value->source == nullptr) return;
      const auto origin = origin_of(value->source->view());
      if (!origin) return;
      const bool is_known = std::any_of(files_.begin(), files_.end(), [&](const FileOrigin& file) {
        return file.device == origin->device && file.inode == origin->inode;
      });
      if (!is_known) files_.push_back(*origin);
    });
  }
  for (const mil::PipelineStage& stage : model.stages) add(stage.model);
}

void OpenedFiles::check_unchanged() const {
  for (const FileOrigin& file : files_) {
    if (!was_written_to(file)) continue;
    fail(ErrorCode::InvalidFile,
         "{}: was written to since the model was loaded, when it had {} bytes; load it again",
         file.path.string(), file.size);
  }
}

}  // namespace pippin::api
