// Core ML's models, its compute plans, and the framework itself.
#include "pippin/coreml/core_model.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "pippin/coreml/core_arrays.h"
#include "pippin/coreml/objective_c.h"

namespace pippin::coreml {
namespace {

using mil::DataType;

// The arguments of a prediction as Core ML objects.
struct Arguments {
  Retained<MLDictionaryFeatureProvider*> features;
  Retained<MLPredictionOptions*> options;
};

ErrorText make_arguments(const Request& request, Arguments& arguments) {
  NSMutableDictionary<NSString*, id>* const values = [NSMutableDictionary dictionary];
  for (const NamedArray& input : request.inputs) {
    MLFeatureValue* value = nil;
    if (const auto* multi = dynamic_cast<const MultiArray*>(input.array.get())) {
      value = [MLFeatureValue featureValueWithMultiArray:multi->get()];
    } else {
      value = [MLFeatureValue
          featureValueWithPixelBuffer:static_cast<const Picture&>(*input.array).get()];
    }
    [values setObject:value forKey:ns(input.name)];
  }
  NSError* error = nil;
  MLDictionaryFeatureProvider* const features =
      [[MLDictionaryFeatureProvider alloc] initWithDictionary:values error:&error];
  if (features == nil) return error_text_of(error);
  arguments.features = Retained<MLDictionaryFeatureProvider*>(features);
  [features release];
  MLPredictionOptions* const options = [[MLPredictionOptions alloc] init];
  if ([options respondsToSelector:@selector(setOutputBackings:)]) {
    PIPPIN_SINCE(13.0) {
      NSMutableDictionary<NSString*, id>* const backings = [NSMutableDictionary dictionary];
      for (const NamedArray& backing : request.backings) {
        const auto& array = static_cast<const MultiArray&>(*backing.array);
        [backings setObject:array.get() forKey:ns(backing.name)];
      }
      [options setOutputBackings:backings];
    }
  }
  arguments.options = Retained<MLPredictionOptions*>(options);
  [options release];
  return {};
}

void take_outputs(id<MLFeatureProvider> result, const std::vector<NamedArray>& backings,
                  std::vector<Output>& outputs) {
  for (NSString* name in [result featureNames]) {
    MLFeatureValue* const value = [result featureValueForName:name];
    Output output{text_of(name), nullptr};
    MLMultiArray* const array =
        [value type] == MLFeatureTypeMultiArray ? [value multiArrayValue] : nil;
    if (array != nil) output.array = std::make_shared<MultiArray>(array);
    if ([value type] == MLFeatureTypeImage && [value imageBufferValue] != nullptr) {
      output.array = std::make_shared<Picture>([value imageBufferValue]);
    }
    for (const NamedArray& backing : backings) {
      const auto& offered = static_cast<const MultiArray&>(*backing.array);
      if (array != nil && backing.name == output.name && offered.get() == array) {
        output.array = backing.array;
      }
    }
    outputs.push_back(std::move(output));
  }
}

// The result of a completion handler.
struct Arrival {
  std::mutex mutex;
  std::condition_variable arrived;
  bool is_there = false;
  Retained<id> result;
  ErrorText error_text;

  void put(id given, NSError* error) {
    const std::lock_guard lock(mutex);
    if (given == nil) error_text = error_text_of(error);
    result = Retained<id>(given);
    is_there = true;
    arrived.notify_all();
  }
  // False if `keep_waiting` ended the wait first.
  bool wait(const KeepWaiting& keep_waiting) {
    std::unique_lock lock(mutex);
    while (!is_there) {
      if (!keep_waiting) {
        arrived.wait(lock);
        continue;
      }
      arrived.wait_for(lock, std::chrono::milliseconds(50));
      if (!is_there && !keep_waiting()) return false;
    }
    return true;
  }
};

class Started final : public Pending {
 public:
  Started(std::shared_ptr<Arrival> arrival, Arguments arguments, std::vector<NamedArray> backings)
      : arrival_(std::move(arrival)),
        arguments_(std::move(arguments)),
        backings_(std::move(backings)) {}
  ~Started() override { arrival_->wait({}); }
  ErrorText wait(std::vector<Output>& outputs) override {
    arrival_->wait({});
    @autoreleasepool {
      if (arrival_->error_text.empty()) take_outputs(arrival_->result.get(), backings_, outputs);
    }
    return arrival_->error_text;
  }

 private:
  std::shared_ptr<Arrival> arrival_;
  Arguments arguments_;
  std::vector<NamedArray> backings_;
};

class Model final : public CoreModel {
 public:
  explicit Model(MLModel* model) : model_(model) {
    for (NSString* name in [[model modelDescription] inputDescriptionsByName]) {
      inputs_.insert(text_of(name));
    }
    for (NSString* name in [[model modelDescription] outputDescriptionsByName]) {
      outputs_.insert(text_of(name));
    }
  }

  const std::set<std::string>& input_names() const override { return inputs_; }
  const std::set<std::string>& output_names() const override { return outputs_; }

  ErrorText new_state(std::unique_ptr<CoreState>& state) override {
    @autoreleasepool {
      @try {
        MLState* made = nil;
        PIPPIN_SINCE(15.0) {
          made = [model_.get() newState];
        }
        if (made == nil) return "the system makes no state";
        state = std::make_unique<ModelState>(made);
        [made release];
        return {};
      } @catch (NSException* exception) {
        return error_text_of(exception);
      }
    }
  }

  ErrorText predict(const Request& request, std::vector<Output>& outputs) override {
    @autoreleasepool {
      @try {
        Arguments arguments;
        ErrorText error_text = make_arguments(request, arguments);
        if (!error_text.empty()) return error_text;
        NSError* error = nil;
        id<MLFeatureProvider> result = nil;
        if (request.state == nullptr) {
          result = [model_.get() predictionFromFeatures:arguments.features.get()
                                                options:arguments.options.get()
                                                  error:&error];
        } else {
          PIPPIN_SINCE(15.0) {
            result = [model_.get() predictionFromFeatures:arguments.features.get()
                                               usingState:state_of(request)
                                                  options:arguments.options.get()
                                                    error:&error];
          }
        }
        if (result == nil) return error_text_of(error);
        take_outputs(result, request.backings, outputs);
        return {};
      } @catch (NSException* exception) {
        return error_text_of(exception);
      }
    }
  }

  std::unique_ptr<Pending> start(const Request& request) override {
    const SEL selector = request.state == nullptr ? @selector
                             (predictionFromFeatures:options:completionHandler:)
                                                  : @selector
                             (predictionFromFeatures:usingState:options:completionHandler:);
    const auto arrival = std::make_shared<Arrival>();
    Arguments arguments;
    @autoreleasepool {
      @try {
        if (![model_.get() respondsToSelector:selector]) return nullptr;
        arrival->error_text = make_arguments(request, arguments);
        arrival->is_there = !arrival->error_text.empty();
        const auto kept = arrival;
        const auto handler = ^(id<MLFeatureProvider> result, NSError* error) {
          kept->put(result, error);
        };
        if (arrival->is_there) {
        } else if (request.state == nullptr) {
          PIPPIN_SINCE(14.0) {
            [model_.get() predictionFromFeatures:arguments.features.get()
                                         options:arguments.options.get()
                               completionHandler:handler];
          }
        } else {
          PIPPIN_SINCE(15.0) {
            [model_.get() predictionFromFeatures:arguments.features.get()
                                      usingState:state_of(request)
                                         options:arguments.options.get()
                               completionHandler:handler];
          }
        }
      } @catch (NSException* exception) {
        arrival->error_text = error_text_of(exception);
        arrival->is_there = true;
      }
    }
    return std::make_unique<Started>(arrival, std::move(arguments), request.backings);
  }

 private:
  static MLState* state_of(const Request& request) {
    return static_cast<const ModelState*>(request.state)->get();
  }

  Retained<MLModel*> model_;
  std::set<std::string> inputs_, outputs_;
};

MLModelConfiguration* configuration_of(const LoadChoice& choice) {
  MLModelConfiguration* const configuration = [[[MLModelConfiguration alloc] init] autorelease];
  [configuration setComputeUnits:static_cast<MLComputeUnits>(choice.units)];
  if (!choice.function.empty()) {
    PIPPIN_SINCE(15.0) {
      [configuration setFunctionName:ns(choice.function)];
    }
  }
  return configuration;
}

PIPPIN_OF(14.4) ComputeDevice device_of(id<MLComputeDeviceProtocol> device) {
  if ([device isKindOfClass:[MLNeuralEngineComputeDevice class]]) {
    return ComputeDevice::NeuralEngine;
  }
  if ([device isKindOfClass:[MLGPUComputeDevice class]]) return ComputeDevice::Gpu;
  return [device isKindOfClass:[MLCPUComputeDevice class]] ? ComputeDevice::Cpu
                                                           : ComputeDevice::Unknown;
}

PIPPIN_OF(14.4)
void add_operations(MLComputePlan* plan, MLModelStructureProgramBlock* block,
                    std::vector<OperationPlan>& operations) {
  for (MLModelStructureProgramOperation* operation in [block operations]) {
    OperationPlan planned;
    planned.type = text_of([operation operatorName]);
    planned.output = text_of([[[operation outputs] firstObject] name]);
    MLComputePlanDeviceUsage* const usage =
        [plan computeDeviceUsageForMLProgramOperation:operation];
    if (usage != nil) {
      planned.preferred = device_of([usage preferredComputeDevice]);
      for (id<MLComputeDeviceProtocol> device in [usage supportedComputeDevices]) {
        planned.supported.push_back(device_of(device));
      }
    }
    MLComputePlanCost* const cost = [plan estimatedCostOfMLProgramOperation:operation];
    if (cost != nil) planned.cost = [cost weight];
    operations.push_back(std::move(planned));
    for (MLModelStructureProgramBlock* nested in [operation blocks]) {
      add_operations(plan, nested, operations);
    }
  }
}

class CoreMl final : public Framework {
 public:
  std::string system() const override {
    @autoreleasepool {
      return text_of([[NSProcessInfo processInfo] operatingSystemVersionString]);
    }
  }
  bool has_functions() const override {
    @autoreleasepool {
      return [MLModelConfiguration instancesRespondToSelector:@selector(setFunctionName:)];
    }
  }
  bool has_states() const override {
    @autoreleasepool {
      return [MLModel instancesRespondToSelector:@selector(newState)];
    }
  }
  bool has_neural_engine_units() const override {
    // All predictions were started together.
    @autoreleasepool {
      return [MLModelConfiguration instancesRespondToSelector:@selector(setModelDisplayName:)];
    }
  }

  bool has_compute_plans() const override {
    @autoreleasepool {
      return [NSClassFromString(@"MLComputePlan")
          respondsToSelector:@selector(loadContentsOfURL:configuration:completionHandler:)];
    }
  }

  ErrorText wrap(void* data, DataType type, const std::vector<int64_t>& shape,
                 std::shared_ptr<CoreArray>& array) override {
    const auto wanted = array_type(type);
    if (!wanted) return "Core ML has no arrays of " + std::string(mil::to_string(type));
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t axis = shape.size(); axis-- > 1;) {
      strides[axis - 1] = strides[axis] * shape[axis];
    }
    @autoreleasepool {
      @try {
        NSError* error = nil;
        MLMultiArray* const made = [[MLMultiArray alloc] initWithDataPointer:data
                                                                       shape:numbers(shape)
                                                                    dataType:*wanted
                                                                     strides:numbers(strides)
                                                                 deallocator:nil
                                                                       error:&error];
        if (made == nil) return error_text_of(error);
        array = std::make_shared<MultiArray>(made);
        [made release];
        return {};
      } @catch (NSException* exception) {
        return error_text_of(exception);
      }
    }
  }

  ErrorText make_picture(PixelFormat format, int64_t width, int64_t height,
                         std::shared_ptr<CoreArray>& array) override {
    const OSType types[] = {kCVPixelFormatType_32BGRA, kCVPixelFormatType_OneComponent8,
                            kCVPixelFormatType_OneComponent16Half};
    CVPixelBufferRef buffer = nullptr;
    if (CVPixelBufferCreate(nullptr, static_cast<size_t>(width), static_cast<size_t>(height),
                            types[static_cast<size_t>(format)], nullptr,
                            &buffer) != kCVReturnSuccess) {
      return "no picture of " + std::to_string(width) + " x " + std::to_string(height);
    }
    array = std::make_shared<Picture>(buffer);
    CVPixelBufferRelease(buffer);
    return {};
  }

  ErrorText compile(const std::filesystem::path& package, const KeepWaiting& keep_waiting,
                    std::filesystem::path& compiled) override {
    @autoreleasepool {
      @try {
        const auto arrival = std::make_shared<Arrival>();
        if ([MLModel respondsToSelector:@selector(compileModelAtURL:completionHandler:)]) {
          PIPPIN_SINCE(13.0) {
            const auto kept = arrival;
            [MLModel compileModelAtURL:url_of(package)
                     completionHandler:^(NSURL* url, NSError* error) {
                       kept->put(url, error);
                     }];
          }
        } else {
          // Older systems do not support a wait with a limit.
          NSError* error = nil;
          NSURL* const url = [MLModel compileModelAtURL:url_of(package) error:&error];
          arrival->put(url, error);
        }
        if (!arrival->wait(keep_waiting)) return "the wait for Core ML's compiler ended";
        if (!arrival->error_text.empty()) return arrival->error_text;
        compiled = text_of([static_cast<NSURL*>(arrival->result.get()) path]);
        return {};
      } @catch (NSException* exception) {
        return error_text_of(exception);
      }
    }
  }

  ErrorText load(const std::filesystem::path& compiled, const LoadChoice& choice,
                 std::unique_ptr<CoreModel>& model) override {
    @autoreleasepool {
      @try {
        NSError* error = nil;
        MLModel* const loaded = [MLModel modelWithContentsOfURL:url_of(compiled)
                                                  configuration:configuration_of(choice)
                                                          error:&error];
        if (loaded == nil) return error_text_of(error);
        model = std::make_unique<Model>(loaded);
        return {};
      } @catch (NSException* exception) {
        return error_text_of(exception);
      }
    }
  }

  ErrorText plan(const std::filesystem::path& compiled, const LoadChoice& choice,
                 const std::string& function, const KeepWaiting& keep_waiting,
                 std::vector<OperationPlan>& operations) override {
    @autoreleasepool {
      @try {
        PIPPIN_SINCE(14.4) {
          const auto arrival = std::make_shared<Arrival>();
          const auto kept = arrival;
          [MLComputePlan loadContentsOfURL:url_of(compiled)
                             configuration:configuration_of(choice)
                         completionHandler:^(MLComputePlan* plan, NSError* error) {
                           kept->put(plan, error);
                         }];
          if (!arrival->wait(keep_waiting)) return "the wait for Core ML's plan ended";
          if (!arrival->error_text.empty()) return arrival->error_text;
          MLComputePlan* const plan = static_cast<MLComputePlan*>(arrival->result.get());
          MLModelStructureProgramFunction* const found =
              [[[[plan modelStructure] program] functions] objectForKey:ns(function)];
          if (found == nil) return "the plan has no function " + function;
          add_operations(plan, [found block], operations);
          return {};
        }
        return "the system has no compute plans";
      } @catch (NSException* exception) {
        return error_text_of(exception);
      }
    }
  }
};

}  // namespace

Framework& core_ml() {
  static CoreMl framework;
  return framework;
}

}  // namespace pippin::coreml
