// The weight files of a model in use.
//
// Internal to the library.
#pragma once

#include <vector>

#include "pippin/base/files/mapped_origin.h"
#include "pippin/mil/model.h"

namespace pippin::api {

class OpenedFiles {
 public:
  explicit OpenedFiles(const mil::Model& model);

  // Throws InvalidFile if one was written to since it was opened, which may have truncated data
  // that a prediction reads. Deleted or replaced files remain readable.
  void check_unchanged() const;

 private:
  void add(const mil::Model& model);

  std::vector<FileOrigin> files_;
};

}  // namespace pippin::api
