// What the Objective-C files of the stand-in share.
#pragma once

#include <functional>
#include <memory>
#include <string>

#import <CoreML/CoreML.h>

#include "tests/coreml/standin.h"
#include "tests/coreml/standin_arrays.h"

// Whether a system of settings().ios has the member; members that are not of later systems are
// always there.
BOOL standin_has(SEL selector);
// Notes a fault where it has not.
void standin_needs(SEL selector);

NSError* standin_error(const std::string& text);
std::string standin_text(NSString* string);
NSString* standin_string(const std::string& text);

// Runs `body` on another thread, later.
void standin_later(const std::function<void()>& body);

// In an @implementation: members of newer systems seem to be absent.
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
// Takes part in owning `data`.
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
