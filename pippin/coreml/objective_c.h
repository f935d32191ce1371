// Helpers shared by this folder's Objective-C++. Reference counts are managed manually (Linux's
// runtime has no ARC), members of newer systems are checked before use, and only Objective-C
// exceptions are caught: a C++ catch in such a file ends the process on Linux.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#import <CoreML/CoreML.h>
#import <Foundation/Foundation.h>

#include "pippin/coreml/core_model.h"

#ifdef __APPLE__
#define PIPPIN_SINCE(version) if (@available(macOS version, *))
#define PIPPIN_OF(version) API_AVAILABLE(macos(version))
#else
#define PIPPIN_SINCE(version)
#define PIPPIN_OF(version)
#endif

namespace pippin::coreml {

// Owns one reference to an object.
template <typename Object>
class Retained {
 public:
  Retained() = default;
  explicit Retained(Object object) : object_([object retain]) {}
  Retained(const Retained& other) : object_([other.object_ retain]) {}
  Retained(Retained&& other) noexcept : object_(std::exchange(other.object_, nil)) {}
  Retained& operator=(Retained other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Retained() { [object_ release]; }
  Object get() const { return object_; }

 private:
  Object object_ = nil;
};

inline NSString* ns(const std::string& text) {
  NSString* const string = [NSString stringWithUTF8String:text.c_str()];
  return string != nil ? string : @"";
}

inline std::string text_of(NSString* string) {
  const char* const text = string != nil ? [string UTF8String] : nullptr;
  return text != nullptr ? text : "";
}

inline ErrorText error_text_of(NSError* error) {
  std::string text = text_of([error localizedDescription]);
  return text.empty() ? "Core ML says no more than that it failed" : text;
}

inline ErrorText error_text_of(NSException* exception) {
  return text_of([exception name]) + ": " + text_of([exception reason]);
}

inline NSURL* url_of(const std::filesystem::path& path) {
  return [NSURL fileURLWithPath:ns(path.string())];
}

inline NSArray<NSNumber*>* numbers(const std::vector<int64_t>& values) {
  NSMutableArray<NSNumber*>* const array = [NSMutableArray arrayWithCapacity:values.size()];
  for (const int64_t value : values) [array addObject:[NSNumber numberWithLongLong:value]];
  return array;
}

inline std::vector<int64_t> values_of(NSArray<NSNumber*>* array) {
  std::vector<int64_t> values;
  for (NSNumber* number in array) values.push_back([number longLongValue]);
  return values;
}

}  // namespace pippin::coreml
