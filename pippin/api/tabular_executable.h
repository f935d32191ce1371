// A tabular model as an executable.
#pragma once

#include "pippin/api/executable.h"
#include "pippin/tabular/stage.h"

namespace pippin::api {

class TabularExecutable : public Executable {
 public:
  // `model` must outlive it. Throws Unsupported with the reason if the model cannot be computed.
  TabularExecutable(const mil::Model& model, const mil::FunctionDescription& description,
                    int64_t max_elements);

  Values run(const Values& inputs, engine::State& state) override;
  std::string describe() const override;

 private:
  const mil::Model& model_;
  const int64_t max_elements_;
  std::vector<bool> has_default_;  // of each input
};

}  // namespace pippin::api
