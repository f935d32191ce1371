// The memory of a model, between its callers and the engine.
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/api/archive.h"
#include "pippin/api/feature.h"
#include "pippin/api/model.h"
#include "pippin/api/model_impl.h"
#include "pippin/base/error.h"

namespace pippin {

State::Impl::Impl(const std::vector<mil::Feature>& declared, const engine::ComputeOptions& compute)
    : features(api::feature_infos(declared)), state(declared, compute) {}

const FeatureInfo* State::Impl::find(std::string_view name) const {
  const auto found = std::find_if(features.begin(), features.end(),
                                  [&](const auto& feature) { return feature.name == name; });
  return found == features.end() ? nullptr : &*found;
}

const FeatureInfo& State::Impl::at(std::string_view name) const {
  const FeatureInfo* feature = find(name);
  if (feature != nullptr) return *feature;
  fail(ErrorCode::NotFound, "no state '{}'; the model's states: {}", name,
       api::list_features(features));
}

State::State(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
State::State(State&&) noexcept = default;
State& State::operator=(State&&) noexcept = default;
State::~State() = default;

const std::vector<FeatureInfo>& State::features() const {
  return impl_->features;
}

Tensor State::get(std::string_view name) const {
  const FeatureInfo& feature = impl_->at(name);
  const MutableByteSpan here = impl_->state.here(name);
  if (!here.empty()) return Tensor::from_bytes(feature.type, here, feature.shape);
  return Tensor::from_bytes(feature.type, impl_->state.read(name), feature.shape);
}

void State::set(std::string_view name, const Tensor& value) {
  const FeatureInfo& feature = impl_->at(name);
  with_context(fmt::format("state '{}'", name), [&] {
    if (value.shape() != feature.shape) {
      fail(ErrorCode::InvalidArgument, "shape {}; expected {}", value.shape(), to_string(feature));
    }
    const Tensor converted = value.to(feature.type);
    const MutableByteSpan here = impl_->state.here(name);
    if (!here.empty()) return converted.copy_to(here);
    const auto& state = impl_->state.features().at(*impl_->state.find(name));
    std::vector<std::byte> bytes(engine::state_bytes(state));
    converted.copy_to(bytes);
    impl_->state.write(name, bytes);
  });
}

void State::reset() {
  impl_->state.reset();
}

Tensor State::view(std::string_view name) {
  const FeatureInfo& feature = impl_->at(name);
  const MutableByteSpan here = impl_->state.here(name);
  if (here.empty() && impl_->state.size_bytes() > 0) {
    fail(ErrorCode::Unsupported, "state '{}' is in memory of the device: take a copy", name);
  }
  return Tensor::wrap(feature.type, feature.shape, here.data(), {}, [impl = impl_] {});
}

State State::clone() const {
  return State(std::make_shared<Impl>(impl_->features, impl_->state.clone()));
}

void State::save(const std::filesystem::path& path) const {
  Values values;
  for (const FeatureInfo& feature : features()) values.emplace(feature.name, get(feature.name));
  write_archive(path, values);
}

void State::load(const std::filesystem::path& path) {
  const Values values = read_archive(path);
  with_context(path.string(), [&] {
    State read = clone();  // until everything is known to fit
    for (const auto& [name, value] : values) read.set(name, std::get<Tensor>(value));
    for (const FeatureInfo& feature : features()) {
      if (!values.contains(feature.name)) {
        fail(ErrorCode::InvalidArgument, "no state '{}' in it; expected {}", feature.name,
             to_string(feature));
      }
    }
    // Views stay valid: the arrays are filled in place.
    for (const auto& [name, value] : values) set(name, std::get<Tensor>(value));
  });
}

}  // namespace pippin
