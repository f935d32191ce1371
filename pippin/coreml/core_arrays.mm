#include "pippin/coreml/core_arrays.h"

namespace pippin::coreml {
namespace {

using mil::DataType;

std::optional<DataType> type_of(MLMultiArrayDataType type) {
  for (const DataType known :
       {DataType::Float16, DataType::Float32, DataType::Float64, DataType::Int32, DataType::Int8}) {
    if (array_type(known) == type) return known;
  }
  return std::nullopt;
}

// Calls `use` with the elements of an array, once.
ErrorText use_elements(MLMultiArray* array, bool writes,
                       const std::function<void(const Elements&)>& use) {
  const auto type = type_of([array dataType]);
  if (!type) return "an array of a type that Pippin does not know";
  __block Elements elements;
  elements.type = *type;
  elements.shape = values_of([array shape]);
  elements.strides = values_of([array strides]);
  const auto* const user = &use;
  const SEL selector =
      writes ? @selector(getMutableBytesWithHandler:) : @selector(getBytesWithHandler:);
  if ([array respondsToSelector:selector]) {
    PIPPIN_SINCE(12.3) {
      if (writes) {
        [array getMutableBytesWithHandler:^(void* bytes, NSInteger, NSArray<NSNumber*>* strides) {
          elements.data = static_cast<std::byte*>(bytes);
          elements.strides = values_of(strides);
          (*user)(elements);
        }];
      } else {
        [array getBytesWithHandler:^(const void* bytes, NSInteger) {
          elements.data = static_cast<std::byte*>(const_cast<void*>(bytes));
          (*user)(elements);
        }];
      }
      return {};
    }
  }
  elements.data = static_cast<std::byte*>([array dataPointer]);
  (*user)(elements);
  return {};
}

}  // namespace

std::optional<MLMultiArrayDataType> array_type(DataType type) {
  switch (type) {
    case DataType::Float16:
      return MLMultiArrayDataTypeFloat16;
    case DataType::Float32:
      return MLMultiArrayDataTypeFloat32;
    case DataType::Float64:
      return MLMultiArrayDataTypeDouble;
    case DataType::Int32:
      return MLMultiArrayDataTypeInt32;
    case DataType::Int8:
      return MLMultiArrayDataTypeInt8;
    default:
      return std::nullopt;
  }
}

ErrorText MultiArray::read(const std::function<void(const Elements&)>& use) {
  return access(false, use);
}

ErrorText MultiArray::write(const std::function<void(const Elements&)>& use) {
  return access(true, use);
}

ErrorText MultiArray::access(bool writes, const std::function<void(const Elements&)>& use) {
  @autoreleasepool {
    @try {
      return use_elements(array_.get(), writes, use);
    } @catch (NSException* exception) {
      return error_text_of(exception);
    }
  }
}

ErrorText Picture::read(const std::function<void(const Elements&)>& use) {
  return access(kCVPixelBufferLock_ReadOnly, use);
}

ErrorText Picture::write(const std::function<void(const Elements&)>& use) {
  return access(0, use);
}

ErrorText Picture::access(CVOptionFlags flags, const std::function<void(const Elements&)>& use) {
  Elements elements;
  int64_t channels = 1, size = 1;
  switch (CVPixelBufferGetPixelFormatType(buffer_)) {
    case kCVPixelFormatType_32BGRA:
      elements.type = DataType::UInt8;
      channels = 4;
      break;
    case kCVPixelFormatType_OneComponent8:
      elements.type = DataType::UInt8;
      break;
    case kCVPixelFormatType_OneComponent16Half:
      elements.type = DataType::Float16;
      size = 2;
      break;
    default:
      return "a picture in a format that Pippin does not know";
  }
  if (CVPixelBufferLockBaseAddress(buffer_, flags) != kCVReturnSuccess) {
    return "a picture that cannot be locked";
  }
  elements.data = static_cast<std::byte*>(CVPixelBufferGetBaseAddress(buffer_));
  elements.shape = {static_cast<int64_t>(CVPixelBufferGetHeight(buffer_)),
                    static_cast<int64_t>(CVPixelBufferGetWidth(buffer_)), channels};
  elements.strides = {static_cast<int64_t>(CVPixelBufferGetBytesPerRow(buffer_)) / size, channels,
                      1};
  use(elements);
  CVPixelBufferUnlockBaseAddress(buffer_, flags);
  return {};
}

ErrorText ModelState::access(const std::string& name,
                             const std::function<void(const Elements&)>& use) {
  __block ErrorText error_text = "the system has no states";
  const auto* const user = &use;
  @autoreleasepool {
    @try {
      PIPPIN_SINCE(15.0) {
        error_text = "it was not given";
        [state_.get() getMultiArrayForStateNamed:ns(name)
                                         handler:^(MLMultiArray* buffer) {
                                           error_text = use_elements(buffer, true, *user);
                                         }];
      }
    } @catch (NSException* exception) {
      error_text = error_text_of(exception);
    }
  }
  return error_text;
}

}  // namespace pippin::coreml
