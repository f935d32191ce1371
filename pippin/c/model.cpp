#include "pippin/api/model.h"

#include <iterator>

#include "pippin/c/boundary.h"
#include "pippin/c/handles.h"

namespace c = pippin::c;
using pippin::Function;
using pippin::Model;

pippin_code pippin_model_load(const char* path, const pippin_options* options, pippin_model** model,
                              pippin_error** error) {
  return c::give(model, "model", error, [&] {
    c::needed(path, "path");
    auto handle = std::make_unique<pippin_model>();
    handle->model = std::make_shared<const Model>(Model::load(path, c::model_options(options)));
    handle->functions = handle->model->function_names();
    handle->metadata = c::metadata_of(*handle->model);
    return handle;
  });
}

void pippin_model_free(pippin_model* model) {
  delete model;
}

int64_t pippin_model_function_count(const pippin_model* model) {
  return model == nullptr ? 0 : std::ssize(model->functions);
}

const char* pippin_model_function_name(const pippin_model* model, int64_t index) {
  if (index < 0 || index >= pippin_model_function_count(model)) return nullptr;
  return model->functions[static_cast<size_t>(index)].c_str();
}

const char* pippin_model_default_function(const pippin_model* model) {
  return model == nullptr ? nullptr : model->model->default_function().c_str();
}

pippin_code pippin_function_open(const pippin_model* model, const char* name,
                                 pippin_function** function, pippin_error** error) {
  return c::give(function, "function", error, [&] {
    const Model& owner = *c::needed(model, "model").model;
    auto handle = std::make_unique<pippin_function>();
    const auto opened =
        std::make_shared<const Function>(name == nullptr ? owner.function() : owner.function(name));
    handle->function = opened;
    handle->features[PIPPIN_INPUT] = c::feature_handles(opened->inputs());
    handle->features[PIPPIN_OUTPUT] = c::feature_handles(opened->outputs());
    handle->features[PIPPIN_STATE] = c::feature_handles(opened->states());
    return handle;
  });
}

void pippin_function_free(pippin_function* function) {
  delete function;
}

const char* pippin_function_name(const pippin_function* function) {
  return function == nullptr ? nullptr : function->function->name().c_str();
}

int64_t pippin_function_feature_count(const pippin_function* function, int32_t role) {
  if (function == nullptr || role < PIPPIN_INPUT || role > PIPPIN_STATE) return 0;
  return std::ssize(function->features[role]);
}

const pippin_feature* pippin_function_feature(const pippin_function* function, int32_t role,
                                              int64_t index) {
  if (index < 0 || index >= pippin_function_feature_count(function, role)) return nullptr;
  return &function->features[role][static_cast<size_t>(index)];
}

const char* pippin_function_label_name(const pippin_function* function) {
  return function == nullptr ? nullptr : function->function->predicted_feature_name().c_str();
}

const char* pippin_function_probabilities_name(const pippin_function* function) {
  return function == nullptr ? nullptr : function->function->predicted_probabilities_name().c_str();
}

pippin_code pippin_function_describe(const pippin_function* function, char** text,
                                     pippin_error** error) {
  return c::guarded(error, [&] {
    c::needed(text, "text") = nullptr;
    const std::string said = c::needed(function, "function").function->describe();
    *text = c::copy_out(std::span<const char>(said));
  });
}
