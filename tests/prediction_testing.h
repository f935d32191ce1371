// Small checkpoints with a multi-token prediction layer.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/files/output.h"
#include "pippin/io/checkpoint.h"
#include "pippin/io/safetensors_writer.h"
#include "pippin/models/models_testing.h"

namespace pippin::testing_models {

using Values = std::vector<float>;
// The elements of a tensor, by its name and shape.
using ValuesOf = std::function<Values(const std::string&, const std::vector<int64_t>&)>;

// A checkpoint whose body has random weights, with the tensors of a prediction layer, which is a
// copy of layer `copied`.
struct PredictionForm {
  std::string layer;  // "mtp.layers.0.", with the prefix of the others
  std::map<std::string, std::vector<int64_t>> others;
};

inline PredictionForm qwen_form(int64_t width) {
  return {"mtp.layers.0.",
          {{"mtp.fc.weight", {width, 2 * width}},
           {"mtp.pre_fc_norm_embedding.weight", {width}},
           {"mtp.pre_fc_norm_hidden.weight", {width}},
           {"mtp.norm.weight", {width}}}};
}

inline PredictionForm deepseek_form(int64_t width, int64_t layers) {
  const std::string root = "model.layers." + std::to_string(layers) + ".";
  return {root,
          {{root + "eh_proj.weight", {width, 2 * width}},
           {root + "enorm.weight", {width}},
           {root + "hnorm.weight", {width}},
           {root + "shared_head.norm.weight", {width}}}};
}

inline void write_predicting_model(const std::filesystem::path& folder, const std::string& config,
                                   int64_t copied, const PredictionForm& form,
                                   const ValuesOf& values = models::made_weights) {
  models::write_random_model(folder, config);
  models::Tensors tensors;
  {
    const Checkpoint body = Checkpoint::open(folder);
    const std::string layer = "model.layers." + std::to_string(copied) + ".";
    for (const std::string& name : body.names()) {
      tensors[name] = body.at(name).shape;
      if (name.starts_with(layer)) tensors[form.layer + name.substr(layer.size())] = tensors[name];
    }
  }
  for (const auto& [name, shape] : form.others) tensors[name] = shape;
  std::vector<SafetensorsWriter::Declaration> declarations;
  for (const auto& [name, shape] : tensors) declarations.push_back({name, Dtype::F32, shape});
  SafetensorsWriter writer(folder / "model.safetensors", declarations);
  for (const auto& declaration : declarations) {
    const Values elements = values(declaration.name, declaration.shape);
    writer.append(std::as_bytes(std::span(elements)));
  }
  writer.finish();
}

}  // namespace pippin::testing_models
