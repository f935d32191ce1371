#include "pippin/api/model.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/api/executable.h"
#include "pippin/api/feature.h"
#include "pippin/api/model_impl.h"
#include "pippin/api/targets.h"
#include "pippin/base/error.h"
#include "pippin/engine/fallback.h"
#include "pippin/io/load_cache.h"
#include "pippin/mil/package/package.h"

namespace pippin {
namespace {

engine::RunnerOptions runner_options(const LoadOptions& options) {
  engine::RunnerOptions result;
  result.compute = static_cast<const engine::ComputeOptions&>(options);
  result.max_elements = options.max_elements;
  result.max_iterations = options.max_iterations;
  result.trace = options.trace;
  if (result.compute.cache == nullptr && !options.load_cache.empty()) {
    result.compute.cache =
        std::make_shared<LoadCache>(options.load_cache, options.load_cache_bytes);
  }
  return result;
}

void check_options(const LoadOptions& options) {
  constexpr int kMaxThreads = 1024;
  if (options.num_threads < 0 || options.num_threads > kMaxThreads) {
    fail(ErrorCode::InvalidArgument, "{} threads; 0 to {} are possible", options.num_threads,
         kMaxThreads);
  }
  if (options.max_elements < 1 || options.max_iterations < 0) {
    fail(ErrorCode::InvalidArgument, "limits of {} elements and {} iterations",
         options.max_elements, options.max_iterations);
  }
}

ModelMetadata public_metadata(const mil::Model& model) {
  const bool network = !model.network_kind.empty();
  return {network ? model.network_version : model.specification_version,
          model.metadata.short_description,
          model.metadata.version,
          model.metadata.author,
          model.metadata.license,
          model.metadata.user_defined,
          network ? model.network_kind : mil::model_kind_name(mil::model_kind_field(model.kind))};
}

void check_function(const Model& model, std::string_view name) {
  const auto names = model.function_names();
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  fail(ErrorCode::NotFound, "no function '{}'; the model's functions: {}", name,
       fmt::join(names, ", "));
}

}  // namespace

Model::Impl::Impl(mil::Model read, const LoadOptions& load_options)
    : model(std::move(read)),
      files(model),
      metadata(public_metadata(model)),
      options(runner_options(load_options)),
      num_threads(load_options.num_threads > 0 ? load_options.num_threads : default_num_threads()) {
}

ThreadPool& Model::Impl::pool() {
  const std::lock_guard held(starting_);
  if (!pool_) pool_.emplace(num_threads);
  return *pool_;
}

Model::Impl::Opened Model::Impl::open(std::string_view function, bool has_states) {
  const std::lock_guard held(opening_);
  engine::RunnerOptions chosen = options;
  if (has_states && states_on_device_) chosen.compute.fallback = engine::Fallback::Never;
  auto executable =
      engine::on_device_or_cpu(chosen.compute, [&](const engine::ComputeOptions& compute) {
        chosen.compute = compute;
        return api::Executable::make(model, function, pool(), chosen);
      });
  if (has_states) {
    options.compute = chosen.compute;
    states_on_device_ = chosen.compute.device != nullptr;
  }
  return {chosen.compute, std::move(executable)};
}

engine::ComputeOptions Model::Impl::state_options() {
  {
    const std::lock_guard held(opening_);
    const bool is_decided = options.compute.device == nullptr || states_on_device_ ||
                            options.compute.fallback == engine::Fallback::Never;
    if (is_decided) return options.compute;
  }
  for (const mil::FunctionDescription& function : model.functions) {
    if (api::collect_states(model, function.name).empty()) continue;
    return open(function.name, true).compute;
  }
  return options.compute;
}

Function::Impl::Impl(std::shared_ptr<Model::Impl> owner, std::string_view function)
    : model(std::move(owner)),
      description(model->model.description(function)),
      declared_states(api::collect_states(model->model, function)),
      states(api::feature_infos(declared_states)),
      opened(model->open(function, !states.empty())) {}

void Function::Impl::check_state(const State::Impl& state) const {
  for (const FeatureInfo& wanted : states) {
    const FeatureInfo* given = state.find(wanted.name);
    if (given == nullptr) {
      fail(ErrorCode::InvalidArgument, "the given state has no '{}'; expected: {}", wanted.name,
           api::list_features(states));
    }
    if (given->shape != wanted.shape || given->type != wanted.type) {
      fail(ErrorCode::InvalidArgument, "state '{}': {}; expected {}", wanted.name,
           to_string(*given), to_string(wanted));
    }
  }
}

Function::Function(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Function::Function(Function&&) noexcept = default;
Function& Function::operator=(Function&&) noexcept = default;
Function::~Function() = default;

const std::string& Function::name() const {
  return impl_->description.name;
}
const std::vector<FeatureInfo>& Function::inputs() const {
  return impl_->opened.executable->inputs();
}
const std::vector<FeatureInfo>& Function::outputs() const {
  return impl_->opened.executable->outputs();
}
const std::vector<FeatureInfo>& Function::states() const {
  return impl_->states;
}
const std::string& Function::predicted_feature_name() const {
  return impl_->description.predicted_feature_name;
}
const std::string& Function::predicted_probabilities_name() const {
  return impl_->description.predicted_probabilities_name;
}

State Function::make_state() const {
  return State(std::make_unique<State::Impl>(impl_->declared_states, impl_->opened.compute));
}

Values Function::predict(const Values& inputs, State& state) const {
  impl_->opened.executable->check_names(inputs);
  impl_->check_state(*state.impl_);
  const Model::Impl::PredictionLock lock(*impl_->model);
  return impl_->opened.executable->run(inputs, state.impl_->state);
}

void Function::predict(const Values& inputs, State& state, Values& outputs) const {
  api::check_targets(impl_->opened.executable->outputs(), outputs);
  impl_->opened.executable->check_names(inputs);
  impl_->check_state(*state.impl_);
  const Model::Impl::PredictionLock lock(*impl_->model);
  impl_->opened.executable->run_into(inputs, state.impl_->state, outputs);
}

Values Function::predict(const Values& inputs) const {
  State state = make_state();
  return predict(inputs, state);
}

std::string Function::describe() const {
  const Model::Impl::PredictionLock lock(*impl_->model);
  return impl_->opened.executable->describe();
}

Model::Model(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Model Model::load(const std::filesystem::path& path, const LoadOptions& options) {
  check_options(options);
  return Model(std::make_shared<Impl>(mil::read_package(path), options));
}

std::vector<std::string> Model::function_names() const {
  std::vector<std::string> names;
  for (const mil::FunctionDescription& function : impl_->model.functions) {
    names.push_back(function.name);
  }
  return names;
}

const std::string& Model::default_function() const {
  return impl_->model.default_function;
}
FunctionInfo Model::describe(std::string_view function) const {
  check_function(*this, function);
  const mil::FunctionDescription& described = impl_->model.description(function);
  return {described.name,
          api::feature_infos(described.inputs),
          api::feature_infos(described.outputs),
          api::feature_infos(api::collect_states(impl_->model, function)),
          described.predicted_feature_name,
          described.predicted_probabilities_name};
}
const ModelMetadata& Model::metadata() const {
  return impl_->metadata;
}
int Model::num_threads() const {
  return impl_->num_threads;
}

Function Model::function(std::string_view name) const {
  check_function(*this, name);
  impl_->files.check_unchanged();
  return Function(std::make_shared<Function::Impl>(impl_, name));
}

void Model::compile(const std::filesystem::path& path) const {
  mil::write_compiled(impl_->model, path);
}

State Model::make_state() const {
  std::vector<mil::Feature> states;
  for (const mil::FunctionDescription& function : impl_->model.functions) {
    api::merge_states(states, api::collect_states(impl_->model, function.name));
  }
  return State(std::make_unique<State::Impl>(states, impl_->state_options()));
}

}  // namespace pippin
