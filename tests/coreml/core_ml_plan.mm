// Compute plans of the stand-in: operations on halves prefer the Neural Engine, all others the GPU,
// as far as the configuration allows; constants and operations with blocks have no device, and all
// others cost the same.
#import "tests/coreml/core_ml_internal.h"
#include "tests/coreml/standin_engine.h"

namespace mil = pippin::mil;
namespace standin = pippin::standin;

#define HELD(type, name)                \
  -(type)name {                         \
    return [held objectForKey:@ #name]; \
  }

@implementation StandinHolder
+ (instancetype)holding:(NSDictionary*)values {
  StandinHolder* const made = [[[self alloc] init] autorelease];
  made->held = [values copy];
  return made;
}
- (void)dealloc {
  [held release];
  [super dealloc];
}
@end

@implementation MLCPUComputeDevice
@end
@implementation MLGPUComputeDevice
@end
@implementation MLNeuralEngineComputeDevice
@end
@implementation MLModelStructureProgramNamedValueType
HELD(NSString*, name)
@end
@implementation MLModelStructureProgramOperation
HELD(NSString*, operatorName)
HELD(NSArray*, outputs)
HELD(NSArray*, blocks)
@end
@implementation MLModelStructureProgramBlock
HELD(NSArray*, operations)
@end
@implementation MLModelStructureProgramFunction
HELD(MLModelStructureProgramBlock*, block)
@end
@implementation MLModelStructureProgram
HELD(NSDictionary*, functions)
@end
@implementation MLModelStructure
HELD(MLModelStructureProgram*, program)
@end
@implementation MLComputePlanCost
- (double)weight {
  return [[held objectForKey:@"weight"] doubleValue];
}
@end
@implementation MLComputePlanDeviceUsage
HELD(id<MLComputeDeviceProtocol>, preferredComputeDevice)
HELD(NSArray*, supportedComputeDevices)
@end

namespace {

bool computes(const mil::Operation& operation) {
  return operation.type() != "const" && operation.blocks().empty();
}

bool gives_halves(const mil::Operation& operation) {
  return !operation.outputs().empty() &&
         operation.output()->type.data_type == mil::DataType::Float16;
}

NSArray* devices_of(const mil::Operation& operation, MLComputeUnits units) {
  NSMutableArray* const devices = [NSMutableArray array];
  const bool engine = units == MLComputeUnitsAll || units == MLComputeUnitsCPUAndNeuralEngine;
  const bool gpu = units == MLComputeUnitsAll || units == MLComputeUnitsCPUAndGPU;
  if (engine && gives_halves(operation))
    [devices addObject:[MLNeuralEngineComputeDevice holding:@{}]];
  if (gpu) [devices addObject:[MLGPUComputeDevice holding:@{}]];
  [devices addObject:[MLCPUComputeDevice holding:@{}]];
  return devices;
}

// A program, and the plan's statement about each operation.
struct Planner {
  MLComputeUnits units;
  bool is_loaded;  // functions that were not requested have no plan
  double weight;

  MLModelStructureProgramBlock* block(const mil::Block& given) const {
    NSMutableArray* const operations = [NSMutableArray array];
    for (const auto& one : given.operations()) [operations addObject:operation(*one)];
    return [MLModelStructureProgramBlock holding:@{@"operations" : operations}];
  }

  MLModelStructureProgramOperation* operation(const mil::Operation& given) const {
    NSMutableArray* const outputs = [NSMutableArray array];
    for (const auto& output : given.outputs()) {
      [outputs addObject:[MLModelStructureProgramNamedValueType
                             holding:@{@"name" : standin_string(output->name)}]];
    }
    NSMutableArray* const blocks = [NSMutableArray array];
    for (const auto& inner : given.blocks()) [blocks addObject:block(*inner)];
    NSMutableDictionary* const told = [NSMutableDictionary dictionaryWithDictionary:@{
      @"operatorName" : standin_string(given.type()),
      @"outputs" : outputs,
      @"blocks" : blocks
    }];
    if (is_loaded && computes(given)) {
      NSArray* const devices = devices_of(given, units);
      [told setObject:[MLComputePlanDeviceUsage holding:@{
              @"preferredComputeDevice" : [devices objectAtIndex:0],
              @"supportedComputeDevices" : devices
            }]
               forKey:@"usage"];
      [told setObject:[MLComputePlanCost holding:@{@"weight" : [NSNumber numberWithDouble:weight]}]
               forKey:@"cost"];
    }
    return [MLModelStructureProgramOperation holding:told];
  }
};

MLModelStructure* structure_of(const mil::Model& model, MLModelConfiguration* configuration) {
  const std::string asked = standin_has(@selector(setFunctionName:))
                                ? standin_text([configuration functionName])
                                : std::string();
  NSMutableDictionary* const functions = [NSMutableDictionary dictionary];
  for (const auto& [name, function] : model.program.functions) {
    const bool is_loaded = name == (asked.empty() ? model.default_function : asked);
    double count = 0;
    mil::for_each_operation(function->block(),
                            [&](const mil::Operation& one) { count += computes(one) ? 1 : 0; });
    const Planner planner{[configuration computeUnits], is_loaded, 1 / count};
    [functions setObject:[MLModelStructureProgramFunction
                             holding:@{@"block" : planner.block(function->block())}]
                  forKey:standin_string(name)];
  }
  return [MLModelStructure holding:@{
    @"program" : [MLModelStructureProgram holding:@{@"functions" : functions}]
  }];
}

}  // namespace

@implementation MLComputePlan
STANDIN_MEMBERS
HELD(MLModelStructure*, modelStructure)

+ (void)loadContentsOfURL:(NSURL*)url
            configuration:(MLModelConfiguration*)configuration
        completionHandler:(void (^)(MLComputePlan*, NSError*))completionHandler {
  standin_needs(_cmd);
  NSURL* const kept_url = [url retain];
  MLModelConfiguration* const kept = [configuration retain];
  const auto handler = Block_copy(completionHandler);
  standin_later([=] {
    MLComputePlan* plan = nil;
    NSError* error = nil;
    if (standin::acts_up(standin::settings().load)) {
      error = standin_error("it was told to fail");
    } else {
      mil::Model model;
      const std::string error_text = standin::read_model(standin_text([kept_url path]), model);
      if (error_text.empty()) {
        plan = [MLComputePlan holding:@{@"modelStructure" : structure_of(model, kept)}];
      } else {
        error = standin_error(error_text);
      }
    }
    handler(plan, error);
    Block_release(handler);
    [kept_url release];
    [kept release];
  });
}

- (MLComputePlanDeviceUsage*)computeDeviceUsageForMLProgramOperation:
    (MLModelStructureProgramOperation*)operation {
  return [operation->held objectForKey:@"usage"];
}
- (MLComputePlanCost*)estimatedCostOfMLProgramOperation:
    (MLModelStructureProgramOperation*)operation {
  return [operation->held objectForKey:@"cost"];
}
@end
