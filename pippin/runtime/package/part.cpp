#include "pippin/runtime/package/part.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/families/anemll.h"
#include "pippin/families/package.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/walk.h"
#include "pippin/runtime/package/model_digest.h"

namespace pippin::runtime {
namespace {

bool was_written_by_pippin(const mil::Model& model) {
  const auto info = model.program.attributes.find(families::kBuildInfo);
  if (info == model.program.attributes.end()) return false;
  const auto& entries = info->second.elements;
  return std::any_of(entries.begin(), entries.end(), [](const mil::Value& value) {
    return value.type.data_type == mil::DataType::String && value.type.is_tensor() &&
           value.to_string_value() == families::kBuildInfoVersion;
  });
}

void take_smaller(std::optional<StepSchema>& place, const StepSchema& step) {
  if (!place || step.query.smallest() < place->query.smallest()) place = step;
}

void take_larger(std::optional<StepSchema>& place, const StepSchema& step) {
  if (step.query.largest() == 1) return;
  if (!place || step.query.largest() > place->query.largest()) place = step;
}

}  // namespace

PartSteps part_steps(const std::vector<const mil::FunctionDescription*>& functions) {
  PartSteps steps;
  for (const mil::FunctionDescription* function : functions) {
    const StepSchema step = step_schema(*function);
    const bool rotated = step.function.find(families::anemll::kRotate) != step.function.npos;
    take_smaller(rotated ? steps.one_rotated : steps.one, step);
    take_larger(rotated ? steps.batch_rotated : steps.batch, step);
  }
  for (auto* step : {&steps.one, &steps.one_rotated}) {
    if (*step && !(*step)->query.contains(1)) step->reset();
  }
  return steps;
}

Part::Part(const std::filesystem::path& package, std::string name, const LoadOptions& options,
           SharedStates& states, ThreadPool& pool)
    : name_(std::move(name)), options_(options), pool_(pool), model_(mil::read_package(package)) {
  if (!model_.has_program()) {
    fail(ErrorCode::Unsupported, "{}: a {}, which is not part of a language model", name_,
         to_string(model_.kind));
  }
  states.add(model_, name_);
  auto functions = functions_of(model_, options_.adapter);
  has_adapter_ = !functions.empty();
  if (!has_adapter_) functions = functions_of(model_, "");
  with_context(name_, [&] { steps_ = part_steps(functions); });
  adapters_ = adapter_names(model_);
  metadata_ = model_.metadata;
  is_own_ = was_written_by_pippin(model_);
}

void Part::release() {
  if (!options_.low_memory) return;
  one_.reset();
  batch_.reset();
  one_rotated_.reset();
  batch_rotated_.reset();
  mil::release_weights(model_.program);
}

void Part::add_to(Digest& digest) {
  add_program(digest, model_);
  if (options_.low_memory) mil::release_weights(model_.program);
}

StepRunner& Part::runner(std::unique_ptr<StepRunner>& place, const StepSchema& step,
                         mil::SizeRange query) {
  if (!place) {
    with_context(name_, [&] {
      place = std::make_unique<StepRunner>(model_, step, query, step.end.largest(), pool_,
                                           options_.compute);
    });
  }
  return *place;
}

mil::SizeRange Part::batch_range(const StepSchema& step) const {
  const int64_t from = std::max<int64_t>(step.query.smallest(), 2);
  return {std::min(from, step.query.largest()),
          std::max(step.query.at_most(options_.prompt_run()), step.query.at_least(from))};
}

StepRunner& Part::one() {
  return runner(one_, steps_.one.value(), {1, 1});
}

StepRunner& Part::one_rotated() {
  return runner(one_rotated_, steps_.one_rotated.value(), {1, 1});
}

StepRunner& Part::batch(int64_t query) {
  return query == 1 ? one() : runner(batch_, steps_.batch.value(), batch_range(*steps_.batch));
}

StepRunner& Part::batch_rotated(int64_t query) {
  if (query == 1) return one_rotated();
  return runner(batch_rotated_, steps_.batch_rotated.value(), batch_range(*steps_.batch_rotated));
}

void Part::prepare(bool batches) {
  if (options_.low_memory) return;
  if (steps_.one) one();
  if (steps_.one_rotated) one_rotated();
  if (batches && steps_.batch) runner(batch_, *steps_.batch, batch_range(*steps_.batch));
}

}  // namespace pippin::runtime
