// The part of Core ML that Pippin uses, declared from its documentation: names, types, and the iOS
// version that introduced a member (SINCE; none: since the beginning).
// tests/coreml/check_selectors.py compares all of it with declarations generated from Apple's.
//
// The implementation is in core_ml.mm: stricter than Apple's, computed by Pippin.
#pragma once

#import <CoreML/StandinHolder.h>
#import <CoreVideo/CoreVideo.h>
#import <Foundation/Foundation.h>

#define SINCE(version)
// The runtime requires the members of a class at its declaration.
#define OWN(name)               \
  {                             \
   @public                      \
    struct Standin_##name* own; \
  }

typedef NS_ENUM(NSInteger, MLComputeUnits) {
  MLComputeUnitsCPUOnly = 0,
  MLComputeUnitsCPUAndGPU = 1,
  MLComputeUnitsAll = 2,
  MLComputeUnitsCPUAndNeuralEngine = 3,
};

typedef NS_ENUM(NSInteger, MLMultiArrayDataType) {
  MLMultiArrayDataTypeDouble = 65600,
  MLMultiArrayDataTypeFloat32 = 65568,
  MLMultiArrayDataTypeFloat16 = 65552,
  MLMultiArrayDataTypeInt32 = 131104,
  MLMultiArrayDataTypeInt8 = 131080,
};

typedef NS_ENUM(NSInteger, MLFeatureType) {
  MLFeatureTypeInvalid = 0,
  MLFeatureTypeInt64 = 1,
  MLFeatureTypeDouble = 2,
  MLFeatureTypeString = 3,
  MLFeatureTypeImage = 4,
  MLFeatureTypeMultiArray = 5,
  MLFeatureTypeDictionary = 6,
  MLFeatureTypeSequence = 7,
  MLFeatureTypeState = 8,
};

NS_ASSUME_NONNULL_BEGIN

@interface MLMultiArray : NSObject
OWN(MLMultiArray)
@property(readonly) MLMultiArrayDataType dataType;
@property(readonly, copy) NSArray<NSNumber*>* shape;
@property(readonly, copy) NSArray<NSNumber*>* strides;
@property(readonly) NSInteger count;
@property(readonly) void* dataPointer;
- (nullable instancetype)initWithDataPointer:(void*)dataPointer
                                       shape:(NSArray<NSNumber*>*)shape
                                    dataType:(MLMultiArrayDataType)dataType
                                     strides:(NSArray<NSNumber*>*)strides
                                 deallocator:(void (^_Nullable)(void* bytes))deallocator
                                       error:(NSError**)error;
- (void)getBytesWithHandler:(void (^)(const void* bytes, NSInteger size))handler SINCE(15.4);
- (void)getMutableBytesWithHandler:(void (^)(void* mutableBytes, NSInteger size,
                                             NSArray<NSNumber*>* strides))handler SINCE(15.4);
@end

@interface MLFeatureValue : NSObject
OWN(MLFeatureValue)
@property(readonly) MLFeatureType type;
@property(readonly, nullable) MLMultiArray* multiArrayValue;
@property(readonly, nullable) CVPixelBufferRef imageBufferValue;
+ (instancetype)featureValueWithMultiArray:(MLMultiArray*)value;
+ (instancetype)featureValueWithPixelBuffer:(CVPixelBufferRef)value;
@end

@protocol MLFeatureProvider <NSObject>
@property(readonly, copy) NSSet<NSString*>* featureNames;
- (nullable MLFeatureValue*)featureValueForName:(NSString*)featureName;
@end

@interface MLDictionaryFeatureProvider : NSObject <MLFeatureProvider>
OWN(MLDictionaryFeatureProvider)
- (nullable instancetype)initWithDictionary:(NSDictionary<NSString*, id>*)dictionary
                                      error:(NSError**)error;
@end

@interface MLFeatureDescription : NSObject
OWN(MLFeatureDescription)
@property(readonly) MLFeatureType type;
@end

@interface MLModelDescription : NSObject
OWN(MLModelDescription)
@property(readonly) NSDictionary<NSString*, MLFeatureDescription*>* inputDescriptionsByName;
@property(readonly) NSDictionary<NSString*, MLFeatureDescription*>* outputDescriptionsByName;
@property(readonly)
    NSDictionary<NSString*, MLFeatureDescription*>* stateDescriptionsByName SINCE(18.0);
@end

SINCE(12.0)
@interface MLModelConfiguration : NSObject
OWN(MLModelConfiguration)
@property(readwrite) MLComputeUnits computeUnits;
@property(readwrite, copy, nullable) NSString* modelDisplayName SINCE(16.0);
@property(readwrite, copy, nullable) NSString* functionName SINCE(18.0);
@end

@interface MLPredictionOptions : NSObject
OWN(MLPredictionOptions)
@property(readwrite, copy) NSDictionary<NSString*, id>* outputBackings SINCE(16.0);
@end

SINCE(18.0)
@interface MLState : NSObject
OWN(MLState)
- (void)getMultiArrayForStateNamed:(NSString*)stateName
                           handler:(void (^)(MLMultiArray* buffer))handler SINCE(18.0);
@end

@interface MLModel : NSObject
OWN(MLModel)
@property(readonly) MLModelDescription* modelDescription;
+ (void)compileModelAtURL:(NSURL*)modelURL
        completionHandler:(void (^)(NSURL* _Nullable compiledModelURL,
                                    NSError* _Nullable error))handler SINCE(16.0);
+ (nullable NSURL*)compileModelAtURL:(NSURL*)modelURL error:(NSError**)error SINCE(11.0);
+ (nullable instancetype)modelWithContentsOfURL:(NSURL*)url
                                  configuration:(MLModelConfiguration*)configuration
                                          error:(NSError**)error SINCE(12.0);
- (nullable id<MLFeatureProvider>)predictionFromFeatures:(id<MLFeatureProvider>)input
                                                 options:(MLPredictionOptions*)options
                                                   error:(NSError**)error;
- (void)predictionFromFeatures:(id<MLFeatureProvider>)input
                       options:(MLPredictionOptions*)options
             completionHandler:(void (^)(id<MLFeatureProvider> _Nullable output,
                                         NSError* _Nullable error))completionHandler SINCE(17.0);
- (MLState*)newState SINCE(18.0);
- (nullable id<MLFeatureProvider>)predictionFromFeatures:(id<MLFeatureProvider>)inputFeatures
                                              usingState:(MLState*)state
                                                 options:(MLPredictionOptions*)options
                                                   error:(NSError**)error SINCE(18.0);
- (void)predictionFromFeatures:(id<MLFeatureProvider>)inputFeatures
                    usingState:(MLState*)state
                       options:(MLPredictionOptions*)options
             completionHandler:(void (^)(id<MLFeatureProvider> _Nullable output,
                                         NSError* _Nullable error))completionHandler SINCE(18.0);
@end

SINCE(17.0)
@protocol MLComputeDeviceProtocol <NSObject>
@end

SINCE(17.0)
@interface MLCPUComputeDevice : StandinHolder <MLComputeDeviceProtocol>
@end

SINCE(17.0)
@interface MLGPUComputeDevice : StandinHolder <MLComputeDeviceProtocol>
@end

SINCE(17.0)
@interface MLNeuralEngineComputeDevice : StandinHolder <MLComputeDeviceProtocol>
@end

SINCE(17.4)
@interface MLModelStructureProgramNamedValueType : StandinHolder
@property(readonly, copy) NSString* name;
@end

@class MLModelStructureProgramBlock;

SINCE(17.4)
@interface MLModelStructureProgramOperation : StandinHolder
@property(readonly, copy) NSString* operatorName;
@property(readonly, copy) NSArray<MLModelStructureProgramNamedValueType*>* outputs;
@property(readonly, copy) NSArray<MLModelStructureProgramBlock*>* blocks;
@end

SINCE(17.4)
@interface MLModelStructureProgramBlock : StandinHolder
@property(readonly, copy) NSArray<MLModelStructureProgramOperation*>* operations;
@end

SINCE(17.4)
@interface MLModelStructureProgramFunction : StandinHolder
@property(readonly) MLModelStructureProgramBlock* block;
@end

SINCE(17.4)
@interface MLModelStructureProgram : StandinHolder
@property(readonly, copy) NSDictionary<NSString*, MLModelStructureProgramFunction*>* functions;
@end

SINCE(17.4)
@interface MLModelStructure : StandinHolder
@property(readonly, nullable) MLModelStructureProgram* program;
@end

SINCE(17.4)
@interface MLComputePlanCost : StandinHolder
@property(readonly) double weight;
@end

SINCE(17.4)
@interface MLComputePlanDeviceUsage : StandinHolder
@property(readonly) id<MLComputeDeviceProtocol> preferredComputeDevice;
@property(readonly, copy) NSArray<id<MLComputeDeviceProtocol>>* supportedComputeDevices;
@end

SINCE(17.4)
@interface MLComputePlan : StandinHolder
@property(readonly) MLModelStructure* modelStructure;
+ (void)loadContentsOfURL:(NSURL*)url
            configuration:(MLModelConfiguration*)configuration
        completionHandler:
            (void (^)(MLComputePlan* _Nullable computePlan, NSError* _Nullable error))handler;
- (nullable MLComputePlanDeviceUsage*)computeDeviceUsageForMLProgramOperation:
    (MLModelStructureProgramOperation*)operation;
- (nullable MLComputePlanCost*)estimatedCostOfMLProgramOperation:
    (MLModelStructureProgramOperation*)operation;
@end

NS_ASSUME_NONNULL_END
