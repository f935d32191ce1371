// Values of the stand-in: arrays, pictures, feature values, providers, and options.
#include <map>

#import "tests/coreml/core_ml_internal.h"

namespace standin = pippin::standin;
using pippin::mil::DataType;

namespace {

// The iOS version, in tenths, that introduced a member which callers must check for.
int since(const std::string& selector) {
  static const std::map<std::string, int> all = {
      {"compileModelAtURL:completionHandler:", 160},
      {"predictionFromFeatures:options:completionHandler:", 170},
      {"newState", 180},
      {"predictionFromFeatures:usingState:options:error:", 180},
      {"predictionFromFeatures:usingState:options:completionHandler:", 180},
      {"getMultiArrayForStateNamed:handler:", 180},
      {"stateDescriptionsByName", 180},
      {"setModelDisplayName:", 160},
      {"setFunctionName:", 180},
      {"loadContentsOfURL:configuration:completionHandler:", 174},
      {"setOutputBackings:", 160},
      {"getBytesWithHandler:", 154},
      {"getMutableBytesWithHandler:", 154},
  };
  const auto found = all.find(selector);
  return found == all.end() ? 0 : found->second;
}

DataType data_type(MLMultiArrayDataType type) {
  switch (type) {
    case MLMultiArrayDataTypeDouble:
      return DataType::Float64;
    case MLMultiArrayDataTypeFloat32:
      return DataType::Float32;
    case MLMultiArrayDataTypeFloat16:
      return DataType::Float16;
    case MLMultiArrayDataTypeInt32:
      return DataType::Int32;
    case MLMultiArrayDataTypeInt8:
      return DataType::Int8;
  }
  return DataType::Bool;
}

MLMultiArrayDataType array_type(DataType type) {
  switch (type) {
    case DataType::Float64:
      return MLMultiArrayDataTypeDouble;
    case DataType::Float16:
      return MLMultiArrayDataTypeFloat16;
    case DataType::Int32:
      return MLMultiArrayDataTypeInt32;
    case DataType::Int8:
      return MLMultiArrayDataTypeInt8;
    default:
      return MLMultiArrayDataTypeFloat32;
  }
}

std::vector<int64_t> values_of(NSArray* array) {
  std::vector<int64_t> values;
  for (NSNumber* number in array) values.push_back([number longLongValue]);
  return values;
}

NSArray* numbers(const std::vector<int64_t>& values) {
  NSMutableArray* const array = [NSMutableArray array];
  for (const int64_t value : values) [array addObject:[NSNumber numberWithLongLong:value]];
  return array;
}

}  // namespace

BOOL standin_has(SEL selector) {
  return since(standin_text(NSStringFromSelector(selector))) <= standin::settings().ios;
}

void standin_needs(SEL selector) {
  if (standin_has(selector)) return;
  standin::add_fault("the system has no " + standin_text(NSStringFromSelector(selector)));
}

NSString* standin_string(const std::string& text) {
  return [NSString stringWithUTF8String:text.c_str()];
}

std::string standin_text(NSString* string) {
  const char* const text = [string UTF8String];
  return text != nullptr ? text : "";
}

NSError* standin_error(const std::string& text) {
  return [NSError errorWithDomain:@"com.apple.CoreML"
                             code:0
                         userInfo:[NSDictionary dictionaryWithObject:standin_string(text)
                                                              forKey:NSLocalizedDescriptionKey]];
}

struct Standin_MLMultiArray {
  standin::Layout layout_;
  std::shared_ptr<std::byte> owned_;
  std::byte* data_{};
};

@implementation MLMultiArray
STANDIN_MEMBERS

- (instancetype)init {
  self = [super init];
  own = new Standin_MLMultiArray;
  return self;
}
- (void)dealloc {
  delete own;
  [super dealloc];
}
- (instancetype)initWithDataPointer:(void*)dataPointer
                              shape:(NSArray*)shape
                           dataType:(MLMultiArrayDataType)dataType
                            strides:(NSArray*)strides
                        deallocator:(void (^)(void*))deallocator
                              error:(NSError**)error {
  self = [self init];
  if (self == nil) return nil;
  own->layout_ = {data_type(dataType), values_of(shape), values_of(strides)};
  own->data_ = static_cast<std::byte*>(dataPointer);
  std::string wrong;
  if (own->layout_.type == DataType::Int8)
    wrong = standin::settings().ios < 260 ? "no such type" : "";
  if (own->layout_.shape.empty() || own->layout_.shape.size() != own->layout_.strides.size()) {
    wrong = "an array needs a shape, and strides of the same rank";
  }
  if (own->data_ == nullptr && own->layout_.count() > 0) wrong = "an array needs memory";
  for (const int64_t size : own->layout_.shape) {
    if (size < 1) wrong = "an axis of an array has at least one element";
  }
  if (deallocator != nil) wrong = "the stand-in frees no memory of others";
  if (wrong.empty()) return self;
  if (error != nullptr) *error = standin_error(wrong);
  [self release];
  return nil;
}

+ (instancetype)arrayOver:(std::shared_ptr<std::byte>)data layout:(const standin::Layout&)layout {
  MLMultiArray* const array = [[[MLMultiArray alloc] init] autorelease];
  array->own->layout_ = layout;
  array->own->data_ = data.get();
  array->own->owned_ = std::move(data);
  return array;
}

- (const standin::Layout&)layout {
  return own->layout_;
}
- (std::byte*)bytes {
  return own->data_;
}
- (MLMultiArrayDataType)dataType {
  return array_type(own->layout_.type);
}
- (NSArray*)shape {
  return numbers(own->layout_.shape);
}
- (NSArray*)strides {
  return numbers(own->layout_.strides);
}
- (NSInteger)count {
  return own->layout_.count();
}
- (void*)dataPointer {
  return own->data_;
}

- (void)getBytesWithHandler:(void (^)(const void*, NSInteger))handler {
  standin_needs(_cmd);
  handler(own->data_, static_cast<NSInteger>(own->layout_.span_bytes()));
}

// Passes memory elsewhere, in a layout that differs from `strides`.
- (void)getMutableBytesWithHandler:(void (^)(void*, NSInteger, NSArray<NSNumber*>*))handler {
  standin_needs(_cmd);
  const standin::Layout moved = standin::padded(own->layout_.type, own->layout_.shape, 1);
  const auto memory = standin::poisoned(moved);
  standin::copy(own->data_, own->layout_, memory.get(), moved);
  handler(memory.get(), static_cast<NSInteger>(moved.span_bytes()), numbers(moved.strides));
  standin::copy(memory.get(), moved, own->data_, own->layout_);
  standin::poison(memory.get(), moved);
}
@end

struct Standin_MLFeatureValue {
  MLMultiArray* array_{};
  CVPixelBufferRef picture_{};
};

@implementation MLFeatureValue
- (instancetype)init {
  self = [super init];
  own = new Standin_MLFeatureValue;
  return self;
}

+ (instancetype)featureValueWithMultiArray:(MLMultiArray*)value {
  MLFeatureValue* const made = [[[MLFeatureValue alloc] init] autorelease];
  made->own->array_ = [value retain];
  return made;
}
+ (instancetype)featureValueWithPixelBuffer:(CVPixelBufferRef)value {
  MLFeatureValue* const made = [[[MLFeatureValue alloc] init] autorelease];
  made->own->picture_ = CVPixelBufferRetain(value);
  return made;
}
- (void)dealloc {
  [own->array_ release];
  CVPixelBufferRelease(own->picture_);
  delete own;
  [super dealloc];
}
- (MLFeatureType)type {
  return own->array_ != nil ? MLFeatureTypeMultiArray : MLFeatureTypeImage;
}
- (MLMultiArray*)multiArrayValue {
  return own->array_;
}
- (CVPixelBufferRef)imageBufferValue {
  return own->picture_;
}
@end

struct Standin_MLDictionaryFeatureProvider {
  NSDictionary* values_{};
};

@implementation MLDictionaryFeatureProvider
- (instancetype)init {
  self = [super init];
  own = new Standin_MLDictionaryFeatureProvider;
  return self;
}

- (instancetype)initWithDictionary:(NSDictionary*)dictionary error:(NSError**)error {
  self = [self init];
  for (id value in [dictionary allValues]) {
    if ([value isKindOfClass:[MLFeatureValue class]]) continue;
    if (error != nullptr) *error = standin_error("a value is not an MLFeatureValue");
    [self release];
    return nil;
  }
  own->values_ = [dictionary copy];
  return self;
}
- (void)dealloc {
  [own->values_ release];
  delete own;
  [super dealloc];
}
- (NSSet*)featureNames {
  return [NSSet setWithArray:[own->values_ allKeys]];
}
- (MLFeatureValue*)featureValueForName:(NSString*)featureName {
  return [own->values_ objectForKey:featureName];
}
@end

struct Standin_MLFeatureDescription {
  MLFeatureType type_{};
};

@implementation MLFeatureDescription
- (instancetype)init {
  self = [super init];
  own = new Standin_MLFeatureDescription;
  return self;
}
- (void)dealloc {
  delete own;
  [super dealloc];
}
+ (instancetype)descriptionOf:(MLFeatureType)type {
  MLFeatureDescription* const made = [[[MLFeatureDescription alloc] init] autorelease];
  made->own->type_ = type;
  return made;
}
- (MLFeatureType)type {
  return own->type_;
}
@end

struct Standin_MLModelDescription {
  NSMutableDictionary* inputs_{};
  NSMutableDictionary* outputs_{};
  NSMutableDictionary* states_{};
};

@implementation MLModelDescription
STANDIN_MEMBERS

- (instancetype)init {
  self = [super init];
  own = new Standin_MLModelDescription;
  return self;
}
+ (instancetype)descriptionOf:(const pippin::mil::FunctionDescription&)function {
  MLModelDescription* const made = [[[MLModelDescription alloc] init] autorelease];
  const auto add = [](const std::vector<pippin::mil::Feature>& features) {
    NSMutableDictionary* const all = [[NSMutableDictionary alloc] init];
    for (const auto& feature : features) {
      const bool picture = feature.kind == pippin::mil::Feature::Kind::Image;
      const bool state = feature.kind == pippin::mil::Feature::Kind::State;
      [all setObject:[MLFeatureDescription descriptionOf:picture ? MLFeatureTypeImage
                                                         : state ? MLFeatureTypeState
                                                                 : MLFeatureTypeMultiArray]
              forKey:standin_string(feature.name)];
    }
    return all;
  };
  made->own->inputs_ = add(function.inputs);
  made->own->outputs_ = add(function.outputs);
  made->own->states_ = add(function.states);
  return made;
}
- (void)dealloc {
  [own->inputs_ release];
  [own->outputs_ release];
  [own->states_ release];
  delete own;
  [super dealloc];
}
- (NSDictionary*)inputDescriptionsByName {
  return own->inputs_;
}
- (NSDictionary*)outputDescriptionsByName {
  return own->outputs_;
}
- (NSDictionary*)stateDescriptionsByName {
  standin_needs(_cmd);
  return own->states_;
}
@end

struct Standin_MLModelConfiguration {
  MLComputeUnits units_{};
  NSString* function_{};
  NSString* display_{};
};

@implementation MLModelConfiguration
STANDIN_MEMBERS

- (instancetype)init {
  self = [super init];
  own = new Standin_MLModelConfiguration;
  own->units_ = MLComputeUnitsAll;
  return self;
}
- (void)dealloc {
  [own->function_ release];
  [own->display_ release];
  delete own;
  [super dealloc];
}
- (MLComputeUnits)computeUnits {
  return own->units_;
}
- (void)setComputeUnits:(MLComputeUnits)units {
  own->units_ = units;
}
- (NSString*)functionName {
  return own->function_;
}
- (void)setFunctionName:(NSString*)name {
  standin_needs(_cmd);
  [own->function_ release];
  own->function_ = [name copy];
}
- (NSString*)modelDisplayName {
  return own->display_;
}
- (void)setModelDisplayName:(NSString*)name {
  standin_needs(_cmd);
  [own->display_ release];
  own->display_ = [name copy];
}
@end

struct Standin_MLPredictionOptions {
  NSDictionary* backings_{};
};

@implementation MLPredictionOptions
STANDIN_MEMBERS

- (instancetype)init {
  self = [super init];
  own = new Standin_MLPredictionOptions;
  return self;
}
- (void)dealloc {
  [own->backings_ release];
  delete own;
  [super dealloc];
}
- (NSDictionary*)outputBackings {
  return own->backings_;
}
- (void)setOutputBackings:(NSDictionary*)backings {
  standin_needs(_cmd);
  [own->backings_ release];
  own->backings_ = [backings copy];
}
@end
