// A vision tower: from the inputs that an image processor makes of an image to rows of embeddings
// for a prompt.
//
//   VisionTower tower(programs, pool);
//   for (const auto& rows : tower.encode(inputs)) ...   // one for each run of placeholders
//
// Each shape of a pass has a plan of its own. The plans of the shapes that were used last are kept,
// and so are the rows of the images that were used last, since a conversation has its images in
// every request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/compute_options.h"
#include "pippin/engine/plan.h"
#include "pippin/engine/state.h"
#include "pippin/image/image_inputs.h"
#include "pippin/image/vision_pass.h"
#include "pippin/mil/model.h"
#include "pippin/runtime/embedded_rows.h"

namespace pippin::runtime {

// The source of a tower's programs: the model (models/vision), which the runtime does not know.
struct VisionPrograms {
  // Throws InvalidArgument for inputs that are not those of the model's processor.
  std::function<image::VisionPasses(const image::ImageInputs& inputs)> passes;
  // The program of a pass, with the function `main` of families/vision.h.
  std::function<mil::Model(const image::VisionShape& shape)> build;
};

struct VisionTowerOptions {
  engine::ComputeOptions compute;
  size_t most_plans = 4;
  // The most bytes of rows that are kept.
  size_t kept_bytes = size_t{256} << 20;
};

class VisionTower {
 public:
  using Rows = std::vector<std::shared_ptr<const EmbeddedRows>>;

  VisionTower(VisionPrograms programs, std::shared_ptr<ThreadPool> pool,
              VisionTowerOptions options = {});
  ~VisionTower();

  // One element for each run of placeholders of the image, in the order of the prompt. May be
  // called by several threads; images are computed one after another. Throws InvalidArgument for
  // inputs of another model, Cancelled, and the errors of recording and planning.
  Rows encode(const image::ImageInputs& inputs);
  // Releases the rows that are kept, so that they are computed again.
  void forget_rows();
  // The number of rows of all runs, without computing them. Throws InvalidArgument as encode().
  int64_t count_rows(const image::ImageInputs& inputs) const;

 private:
  struct Planned;
  struct Kept {
    std::string digest;
    Rows rows;
    size_t bytes;
  };

  Planned& planned(const image::VisionShape& shape);
  // That of the shape's program, which need not have a plan.
  std::string program_digest(const image::VisionShape& shape);
  std::string digest_of(const image::ImageInputs& inputs, const image::VisionPasses& passes);
  Rows compute(const image::ImageInputs& inputs, const image::VisionPasses& passes,
               const std::string& digest);
  void keep(const std::string& digest, const Rows& rows);

  VisionPrograms programs_;
  std::shared_ptr<ThreadPool> pool_;
  VisionTowerOptions options_;
  engine::State state_;                        // without contents
  std::mutex turn_;                            // for the following
  std::list<std::unique_ptr<Planned>> plans_;  // the last used one first
  std::map<image::VisionShape, std::string> digests_;
  std::list<Kept> kept_;  // the last used one first
  size_t kept_bytes_ = 0;
};

}  // namespace pippin::runtime
