// A sequence's state over several ranks: each has an array of its own, in which only the slices
// that its layers touch have values, and memory.
#pragma once

#include <memory>
#include <vector>

#include "pippin/engine/state.h"
#include "pippin/pipeline/owned_rows.h"
#include "pippin/pipeline/pipeline.h"

namespace pippin::pipeline {

inline constexpr const char* kDeviceName = "pipeline";

class PipelineState final : public engine::StateMemory {
 public:
  PipelineState(std::shared_ptr<Pipeline> pipeline, std::vector<mil::Feature> features);
  ~PipelineState() override;

  void reset() override;
  void read_rows(size_t index, const engine::StateRows& rows, std::byte* to,
                 uint64_t stride) const override;
  void write_rows(size_t index, const engine::StateRows& rows, const std::byte* from,
                  uint64_t stride) override;
  void copy_rows(size_t index, const engine::StateRows& rows,
                 const engine::StateMemory& from) override;
  std::unique_ptr<engine::StateMemory> clone() const override;

  uint64_t id() const { return id_; }
  engine::State& local() { return local_; }

 private:
  PipelineState(std::shared_ptr<Pipeline> pipeline, std::vector<mil::Feature> features,
                engine::State local, uint64_t id);
  OwnedRows owned(size_t index, const engine::StateRows& rows, int group) const;

  const std::shared_ptr<Pipeline> pipeline_;
  const std::vector<mil::Feature> features_;
  engine::State local_;
  uint64_t id_;
};

}  // namespace pippin::pipeline
