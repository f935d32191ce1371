// Models and states of the stand-in.
#include <thread>

#include "pippin/base/files/temporary_folder.h"
#include "pippin/engine/state.h"
#import "tests/coreml/core_ml_internal.h"
#include "tests/coreml/standin_pictures.h"

namespace standin = pippin::standin;
namespace mil = pippin::mil;
using standin::HostArray;
using standin::HostArrays;

@interface MLState (Standin)
+ (instancetype)stateFor:(const mil::FunctionDescription&)function
                   state:(std::unique_ptr<pippin::engine::State>)state;
- (pippin::engine::State&)state;
// Called at the beginning and the end of a prediction.
- (void)beginPrediction;
- (void)endPrediction;
@end

namespace {

// Deleted when the process ends, with everything that was not moved away.
const std::filesystem::path& temporary() {
  static const pippin::TemporaryFolder folder("standin");
  return folder.path();
}

std::string compile(NSURL* url, NSURL** compiled) {
  if (standin::acts_up(standin::settings().compile)) return "compiler error: it was told to fail";
  const int64_t number = ++standin::counters().compiled;
  std::filesystem::path made;
  const std::filesystem::path folder = temporary() / std::to_string(number);
  std::filesystem::create_directories(folder);
  const std::string error_text =
      standin::compile(standin_text([url path]), folder, standin::settings().ios, made);
  if (error_text.empty()) *compiled = [NSURL fileURLWithPath:standin_string(made.string())];
  return error_text;
}

// "float16 [1, 4]"
std::string named(mil::DataType type, const std::vector<int64_t>& shape) {
  std::string text = std::string(mil::to_string(type)) + " [";
  for (const int64_t size : shape) text += (text.back() == '[' ? "" : ", ") + std::to_string(size);
  return text + "]";
}

bool fits(const mil::Feature& feature, const std::vector<int64_t>& shape) {
  if (!feature.enumerated_shapes.empty()) {
    for (const auto& one : feature.enumerated_shapes) {
      if (one == shape) return true;
    }
    return shape == feature.shape;
  }
  if (feature.ranges.empty()) return shape == feature.shape;
  if (feature.ranges.size() != shape.size()) return false;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const mil::SizeRange& range = feature.ranges[axis];
    if (shape[axis] < range.lower || (range.upper >= 0 && shape[axis] > range.upper)) return false;
  }
  return true;
}

std::string take_input(const mil::Feature& feature, MLFeatureValue* value, HostArray& array) {
  if (value == nil) return "the input " + feature.name + " is missing";
  if (feature.kind == mil::Feature::Kind::Image) {
    if ([value type] != MLFeatureTypeImage) return "the input " + feature.name + " is no image";
    return standin::take_picture(feature.image, [value imageBufferValue], array);
  }
  if ([value type] != MLFeatureTypeMultiArray) return feature.name + " is not a multi-array";
  MLMultiArray* const given = [value multiArrayValue];
  const standin::Layout& layout = [given layout];
  if (layout.type != feature.data_type || !fits(feature, layout.shape)) {
    return "the input " + feature.name + " is " + named(layout.type, layout.shape) +
           ", which the model does not take";
  }
  array.type = layout.type;
  array.shape = layout.shape;
  array.bytes = standin::pack([given bytes], layout);
  return {};
}

// Writes to the backing every second time, otherwise to a separate array.
MLMultiArray* give_output(const HostArray& array, MLMultiArray* backing) {
  static std::atomic<int64_t> offered = 0;
  if (backing != nil && standin::settings().ignores_backings && ++offered % 2 == 0) backing = nil;
  if (backing != nil) {
    const standin::Layout& layout = [backing layout];
    if (layout.type == array.type && layout.shape == array.shape) {
      standin::unpack(array.bytes, [backing bytes], layout);
      ++standin::counters().used_backings;
      return backing;
    }
    standin::add_fault("a backing is " + named(layout.type, layout.shape) + ", the output " +
                       named(array.type, array.shape));
  }
  const standin::Layout layout = standin::padded(array.type, array.shape);
  auto memory = standin::poisoned(layout);
  standin::unpack(array.bytes, memory.get(), layout);
  return [MLMultiArray arrayOver:std::move(memory) layout:layout];
}

}  // namespace

void standin_later(const std::function<void()>& body) {
  standin::LateWork::begin();
  std::thread([body] {
    GSRegisterCurrentThread();
    std::this_thread::sleep_for(std::chrono::milliseconds(standin::settings().late_ms));
    @autoreleasepool {
      body();
    }
    GSUnregisterCurrentThread();
    standin::LateWork::end();
  }).detach();
}

struct Standin_MLState {
  mil::FunctionDescription function_;
  std::unique_ptr<pippin::engine::State> state_;
  std::atomic<int> predictions_, looks_;
};

@implementation MLState
- (instancetype)init {
  self = [super init];
  own = new Standin_MLState;
  return self;
}
- (void)dealloc {
  delete own;
  [super dealloc];
}

+ (instancetype)stateFor:(const mil::FunctionDescription&)function
                   state:(std::unique_ptr<pippin::engine::State>)state {
  MLState* const made = [[[MLState alloc] init] autorelease];
  made->own->function_ = function;
  made->own->state_ = std::move(state);
  return made;
}
- (pippin::engine::State&)state {
  return *own->state_;
}
- (void)beginPrediction {
  if (++own->predictions_ > 1) standin::add_fault("two predictions of one state overlap");
  if (own->looks_ > 0) standin::add_fault("a state is looked at while a prediction of it begins");
}
- (void)endPrediction {
  --own->predictions_;
}

- (void)getMultiArrayForStateNamed:(NSString*)stateName handler:(void (^)(MLMultiArray*))handler {
  standin_needs(_cmd);
  const auto index = own->state_->find(standin_text(stateName));
  if (!index) {
    [NSException raise:NSInvalidArgumentException
                format:@"The model has no state named %@", stateName];
  }
  if (own->predictions_ > 0) standin::add_fault("a state is looked at during a prediction");
  ++own->looks_;
  ++standin::counters().looks;
  const mil::Feature& feature = own->state_->features()[*index];
  const auto bytes = own->state_->here(feature.name);
  const standin::Layout layout = standin::padded(feature.data_type, feature.shape);
  auto memory = standin::poisoned(layout);
  standin::unpack({bytes.begin(), bytes.end()}, memory.get(), layout);
  @autoreleasepool {
    handler([MLMultiArray arrayOver:memory layout:layout]);
  }
  const auto changed = standin::pack(memory.get(), layout);
  std::copy(changed.begin(), changed.end(), bytes.begin());
  standin::poison(memory.get(), layout);
  --own->looks_;
}
@end

struct Standin_MLModel {
  std::shared_ptr<standin::EngineModel> model_;
  MLModelDescription* description_{};
  std::atomic<int> users_;
};

@implementation MLModel
STANDIN_MEMBERS

- (instancetype)init {
  self = [super init];
  own = new Standin_MLModel;
  return self;
}
+ (NSURL*)compileModelAtURL:(NSURL*)modelURL error:(NSError**)error {
  NSURL* compiled = nil;
  const std::string error_text = compile(modelURL, &compiled);
  if (!error_text.empty() && error != nullptr) *error = standin_error(error_text);
  return compiled;
}

+ (void)compileModelAtURL:(NSURL*)modelURL
        completionHandler:(void (^)(NSURL*, NSError*))completionHandler {
  standin_needs(_cmd);
  NSURL* const url = [modelURL retain];
  const auto handler = Block_copy(completionHandler);
  standin_later([url, handler] {
    NSURL* compiled = nil;
    const std::string error_text = compile(url, &compiled);
    handler(compiled, error_text.empty() ? nil : standin_error(error_text));
    Block_release(handler);
    [url release];
  });
}

+ (instancetype)modelWithContentsOfURL:(NSURL*)url
                         configuration:(MLModelConfiguration*)configuration
                                 error:(NSError**)error {
  std::shared_ptr<standin::EngineModel> loaded;
  const std::string function = standin_text([configuration functionName]);
  std::string error_text = "it was told to fail";
  if (!standin::acts_up(standin::settings().load)) {
    error_text = standin::EngineModel::load(standin_text([url path]), function, loaded);
  }
  if (!error_text.empty()) {
    if (error != nullptr) *error = standin_error(error_text);
    return nil;
  }
  MLModel* const model = [[[MLModel alloc] init] autorelease];
  model->own->model_ = std::move(loaded);
  model->own->description_ =
      [[MLModelDescription descriptionOf:model->own->model_->description()] retain];
  ++standin::counters().loaded;
  ++standin::counters().models_alive;
  return model;
}

- (void)dealloc {
  if (own->model_ != nullptr) --standin::counters().models_alive;
  [own->description_ release];
  delete own;
  [super dealloc];
}

- (MLModelDescription*)modelDescription {
  return own->description_;
}

- (MLState*)newState {
  standin_needs(_cmd);
  std::unique_ptr<pippin::engine::State> state;
  const std::string error_text = own->model_->new_state(state);
  if (!error_text.empty()) {
    [NSException raise:NSMallocException format:@"%s", error_text.c_str()];
  }
  ++standin::counters().states;
  return [[MLState stateFor:own->model_->description() state:std::move(state)] retain];
}

// The common implementation of all four members.
- (id<MLFeatureProvider>)predict:(id<MLFeatureProvider>)input
                           state:(MLState*)state
                         options:(MLPredictionOptions*)options
                           error:(NSError**)error {
  const auto refuse = [error](const std::string& text) -> id {
    if (error != nullptr) *error = standin_error(text);
    return nil;
  };
  ++standin::counters().predictions;
  if (standin::acts_up(standin::settings().predict)) {
    return refuse("the prediction was told to fail");
  }
  const mil::FunctionDescription& function = own->model_->description();
  HostArrays inputs, outputs;
  for (const mil::Feature& feature : function.inputs) {
    const std::string error_text = take_input(
        feature, [input featureValueForName:standin_string(feature.name)], inputs[feature.name]);
    if (!error_text.empty()) return refuse(error_text);
  }
  for (NSString* name in [input featureNames]) {
    if (!inputs.contains(standin_text(name))) {
      return refuse("the model has no input " + standin_text(name));
    }
  }
  std::unique_ptr<pippin::engine::State> none;
  if (state == nil) {
    if (!function.states.empty()) return refuse("the model has states, and none was given");
    const std::string error_text = own->model_->new_state(none);
    if (!error_text.empty()) return refuse(error_text);
  } else {
    for (const mil::Feature& wanted : function.states) {
      const auto index = [state state].find(wanted.name);
      if (!index) return refuse("the state given has no " + wanted.name);
      const mil::Feature& given = [state state].features()[*index];
      if (given.shape != wanted.shape || given.data_type != wanted.data_type) {
        return refuse("the state " + wanted.name + " is " + named(given.data_type, given.shape) +
                      ", the model takes " + named(wanted.data_type, wanted.shape));
      }
    }
  }
  const std::string error_text =
      own->model_->predict(inputs, state != nil ? [state state] : *none, outputs);
  if (!error_text.empty()) return refuse(error_text);
  NSMutableDictionary* const results = [NSMutableDictionary dictionary];
  NSDictionary* const backings =
      standin_has(@selector(setOutputBackings:)) ? [options outputBackings] : nil;
  for (const mil::Feature& feature : function.outputs) {
    NSString* const name = standin_string(feature.name);
    const HostArray& array = outputs.at(feature.name);
    MLFeatureValue* value = nil;
    if (feature.kind == mil::Feature::Kind::Image) {
      CVPixelBufferRef const picture = standin::give_picture(feature.image, array);
      value = [MLFeatureValue featureValueWithPixelBuffer:picture];
      CVPixelBufferRelease(picture);
    } else {
      value = [MLFeatureValue
          featureValueWithMultiArray:give_output(array, [backings objectForKey:name])];
    }
    [results setObject:value forKey:name];
  }
  return [[[MLDictionaryFeatureProvider alloc] initWithDictionary:results error:error] autorelease];
}

- (id<MLFeatureProvider>)predictInTurn:(id<MLFeatureProvider>)input
                                 state:(MLState*)state
                               options:(MLPredictionOptions*)options
                                 error:(NSError**)error {
  if (++own->users_ > 1) standin::add_fault("two threads predict with one model");
  [state beginPrediction];
  const id result = [self predict:input state:state options:options error:error];
  [state endPrediction];
  --own->users_;
  return result;
}

- (id<MLFeatureProvider>)predictionFromFeatures:(id<MLFeatureProvider>)input
                                        options:(MLPredictionOptions*)options
                                          error:(NSError**)error {
  return [self predictInTurn:input state:nil options:options error:error];
}

- (id<MLFeatureProvider>)predictionFromFeatures:(id<MLFeatureProvider>)input
                                     usingState:(MLState*)state
                                        options:(MLPredictionOptions*)options
                                          error:(NSError**)error {
  standin_needs(_cmd);
  return [self predictInTurn:input state:state options:options error:error];
}

- (void)start:(id<MLFeatureProvider>)input
        state:(MLState*)state
      options:(MLPredictionOptions*)options
      handler:(void (^)(id<MLFeatureProvider>, NSError*))completionHandler {
  ++standin::counters().asynchronous;
  [state beginPrediction];
  const id kept_input = [(id)input retain];
  MLState* const kept_state = [state retain];
  MLPredictionOptions* const kept_options = [options retain];
  MLModel* const model = [self retain];
  const auto handler = Block_copy(completionHandler);
  standin_later([=] {
    NSError* error = nil;
    const id result = [model predict:kept_input state:kept_state options:kept_options error:&error];
    [kept_state endPrediction];
    handler(result, error);
    Block_release(handler);
    [kept_input release];
    [kept_state release];
    [kept_options release];
    [model release];
  });
}

- (void)predictionFromFeatures:(id<MLFeatureProvider>)input
                       options:(MLPredictionOptions*)options
             completionHandler:(void (^)(id<MLFeatureProvider>, NSError*))completionHandler {
  standin_needs(_cmd);
  [self start:input state:nil options:options handler:completionHandler];
}

- (void)predictionFromFeatures:(id<MLFeatureProvider>)input
                    usingState:(MLState*)state
                       options:(MLPredictionOptions*)options
             completionHandler:(void (^)(id<MLFeatureProvider>, NSError*))completionHandler {
  standin_needs(_cmd);
  [self start:input state:state options:options handler:completionHandler];
}
@end
