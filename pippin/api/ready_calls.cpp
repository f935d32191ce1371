#include "pippin/api/ready_calls.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "pippin/base/threads/fork.h"

namespace pippin::api {
namespace {

constexpr size_t kMaxCalls = 16;  // the least recently used is evicted
constexpr size_t kMaxRefused = 4;

const Value* find_value(const Values& values, const FeatureInfo& feature) {
  const auto found = values.find(feature.name);
  return found == values.end() ? nullptr : &found->second;
}

}  // namespace

// The form of an input; no shape if it is absent.
struct ReadyCalls::Form {
  DataType type = {};
  std::optional<std::vector<int64_t>> shape;

  bool fits(const Value* value) const {
    if (value == nullptr || !shape) return value == nullptr && !shape;
    const auto* tensor = std::get_if<Tensor>(value);
    return tensor != nullptr && tensor->type() == type && tensor->shape() == *shape;
  }
};

struct ReadyCalls::Ready {
  std::vector<Form> forms;  // for each input
  std::unique_ptr<PlannedCall> call;

  bool fits(const std::vector<FeatureInfo>& features, const Values& inputs) const {
    return std::equal(forms.begin(), forms.end(), features.begin(), features.end(),
                      [&](const Form& form, const FeatureInfo& feature) {
                        return form.fits(find_value(inputs, feature));
                      });
  }
};

struct ReadyCalls::Kept {
  std::list<Ready> calls, refused;
};

ReadyCalls::ReadyCalls() = default;
ReadyCalls::~ReadyCalls() = default;

PlannedCall* ReadyCalls::find(const std::vector<FeatureInfo>& features, const Values& inputs,
                              const Make& make) {
  if (kept_ == nullptr || process_ != fork_count()) {
    // A thread of the parent may have been in the middle of it: leaking is better than using
    // half-modified data.
    static_cast<void>(kept_.release());
    process_ = fork_count();
    kept_ = std::make_unique<Kept>();
  }
  auto& [calls, refused] = *kept_;
  const auto known = std::find_if(calls.begin(), calls.end(),
                                  [&](const Ready& one) { return one.fits(features, inputs); });
  if (known != calls.end()) {
    calls.splice(calls.begin(), calls, known);
    return calls.front().call.get();
  }
  if (refused.size() == kMaxRefused ||
      std::any_of(refused.begin(), refused.end(),
                  [&](const Ready& one) { return one.fits(features, inputs); })) {
    return nullptr;
  }
  Ready ready;
  for (const FeatureInfo& feature : features) {
    const Value* value = find_value(inputs, feature);
    const auto* tensor = value == nullptr ? nullptr : std::get_if<Tensor>(value);
    if (value != nullptr && tensor == nullptr) return nullptr;  // an image
    ready.forms.push_back(tensor == nullptr ? Form() : Form{tensor->type(), tensor->shape()});
  }
  ready.call = make();
  std::list<Ready>& list = ready.call == nullptr ? refused : calls;
  list.push_front(std::move(ready));
  if (calls.size() > kMaxCalls) calls.pop_back();
  return list.front().call.get();
}

}  // namespace pippin::api
