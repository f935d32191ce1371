// States in Core ML's memory: MLState objects, which only a loaded model can create and which all
// functions and chunks with the same states share, and copies for the host.
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
  // Throw Device if Core ML does not return it.
  ByteSpan bytes(size_t index) const override;
  MutableByteSpan bytes(size_t index) override;
  std::unique_ptr<engine::StateMemory> clone() const override;

  // For a run of a model with these states: the object to pass, with the host's changes. Throws
  // InvalidArgument if a state is missing or has another shape; Unsupported if models share only
  // some of their states.
  CoreState& for_run(CoreModel& model, const std::vector<mil::Feature>& wanted);

 private:
  // The host's copy of one array.
  struct Mirror {
    std::vector<std::byte> bytes;
    bool is_known = false;    // bytes equal the state's
    bool is_written = false;  // the host's copy is newer
  };
  struct Shared {
    std::set<std::string> names;
    std::unique_ptr<CoreState> state;
  };
  Shared* find(const std::string& name) const;
  Mirror& mirror(size_t index) const;

  std::vector<mil::Feature> features_;
  mutable std::vector<Mirror> mirrors_;
  mutable std::vector<Shared> shared_;
};

}  // namespace pippin::coreml
