// States in Core ML's memory: MLState objects, which only a loaded model can create and which all
// functions and chunks with the same states share.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "pippin/coreml/core_model.h"
#include "pippin/engine/state.h"

namespace pippin::coreml {

class CoreStateMemory final : public engine::StateMemory {
 public:
  explicit CoreStateMemory(const std::vector<mil::Feature>& states);

  void reset() override;
  // Throw Device if Core ML gives no access to the array.
  void read_rows(size_t index, const engine::StateRows& rows, std::byte* to,
                 uint64_t stride) const override;
  void write_rows(size_t index, const engine::StateRows& rows, const std::byte* from,
                  uint64_t stride) override;
  std::unique_ptr<engine::StateMemory> clone() const override;

  // For a run of a model with these states: the object to pass. Throws
  // InvalidArgument if a state is missing or has another shape; Unsupported if models share only
  // some of their states.
  CoreState& for_run(CoreModel& model, const std::vector<mil::Feature>& wanted);

 private:
  struct Shared {
    std::set<std::string> names;
    std::unique_ptr<CoreState> state;
  };
  Shared* find(const std::string& name) const;

  std::vector<mil::Feature> features_;
  // Packed elements that were written before there was an object; empty: zeros.
  std::vector<std::vector<std::byte>> waiting_;
  mutable std::vector<Shared> shared_;
};

}  // namespace pippin::coreml
