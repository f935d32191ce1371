// The files that a model's weights lie in while it is used.
//
// Inside the library.
#pragma once

#include <vector>

#include "pippin/base/mapped_origin.h"
#include "pippin/mil/model.h"

namespace pippin::api {

class OpenedFiles {
 public:
  explicit OpenedFiles(const mil::Model& model);

  // Throws InvalidFile where one was written to since it was opened, which may have cut off what a
  // prediction reads. Those that were deleted or replaced are there as they were.
  void check_unchanged() const;

 private:
  void add(const mil::Model& model);

  std::vector<FileOrigin> files_;
};

}  // namespace pippin::api
