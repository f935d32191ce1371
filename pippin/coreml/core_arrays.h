// Implements Core ML's arrays, pictures and states for the classes of core_model.h.
#pragma once

#include <functional>
#include <optional>
#include <string>

#import <CoreVideo/CoreVideo.h>

#include "pippin/coreml/objective_c.h"

namespace pippin::coreml {

std::optional<MLMultiArrayDataType> array_type(mil::DataType type);

class MultiArray final : public CoreArray {
 public:
  explicit MultiArray(MLMultiArray* array) : array_(array) {}
  ErrorText read(const std::function<void(const Elements&)>& use) override;
  ErrorText write(const std::function<void(const Elements&)>& use) override;
  MLMultiArray* get() const { return array_.get(); }

 private:
  ErrorText access(bool writes, const std::function<void(const Elements&)>& use);
  Retained<MLMultiArray*> array_;
};

class Picture final : public CoreArray {
 public:
  explicit Picture(CVPixelBufferRef buffer) : buffer_(CVPixelBufferRetain(buffer)) {}
  Picture(const Picture&) = delete;
  Picture& operator=(const Picture&) = delete;
  ~Picture() override { CVPixelBufferRelease(buffer_); }
  ErrorText read(const std::function<void(const Elements&)>& use) override;
  ErrorText write(const std::function<void(const Elements&)>& use) override;
  CVPixelBufferRef get() const { return buffer_; }

 private:
  ErrorText access(CVOptionFlags flags, const std::function<void(const Elements&)>& use);
  CVPixelBufferRef buffer_;
};

class ModelState final : public CoreState {
 public:
  explicit ModelState(MLState* state) : state_(state) {}
  ErrorText access(const std::string& name,
                   const std::function<void(const Elements&)>& use) override;
  MLState* get() const { return state_.get(); }

 private:
  Retained<MLState*> state_;
};

}  // namespace pippin::coreml
