// Helpers shared by the stand-in's Objective-C files.
#pragma once

#include <functional>
#include <memory>
#include <string>

#import <CoreML/CoreML.h>

#include "tests/coreml/standin.h"
#include "tests/coreml/standin_arrays.h"

// Whether the system of settings().ios has the member; members that do not belong to later systems
// are always present.
BOOL standin_has(SEL selector);
// Records a fault if the system lacks it.
void standin_needs(SEL selector);

NSError* standin_error(const std::string& text);
std::string standin_text(NSString* string);
NSString* standin_string(const std::string& text);

// Runs `body` on another thread, later.
void standin_later(const std::function<void()>& body);

// In an @implementation: hides members of newer systems.
#define STANDIN_MEMBERS                                                          \
  +(BOOL)respondsToSelector : (SEL)selector {                                    \
    return standin_has(selector) && [super respondsToSelector:selector];         \
  }                                                                              \
  +(BOOL)instancesRespondToSelector : (SEL)selector {                            \
    return standin_has(selector) && [super instancesRespondToSelector:selector]; \
  }                                                                              \
  -(BOOL)respondsToSelector : (SEL)selector {                                    \
    return standin_has(selector) && [super respondsToSelector:selector];         \
  }

@interface MLMultiArray (Standin)
// Shares ownership of `data`.
+ (instancetype)arrayOver:(std::shared_ptr<std::byte>)data
                   layout:(const pippin::standin::Layout&)layout;
- (const pippin::standin::Layout&)layout;
- (std::byte*)bytes;
@end

@interface MLFeatureDescription (Standin)
+ (instancetype)descriptionOf:(MLFeatureType)type;
@end

@interface MLModelDescription (Standin)
+ (instancetype)descriptionOf:(const pippin::mil::FunctionDescription&)function;
@end
