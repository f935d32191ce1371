// The part of Core Video that Pippin uses, declared from its documentation: pictures in memory
// whose rows are padded. Implemented in core_video.cpp.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct __CVPixelBuffer* CVPixelBufferRef;
typedef int32_t CVReturn;
typedef uint64_t CVOptionFlags;
typedef uint32_t OSType;

enum { kCVReturnSuccess = 0 };
enum { kCVPixelBufferLock_ReadOnly = 1 };
enum {
  kCVPixelFormatType_OneComponent8 = 0x4C303038,       // 'L008'
  kCVPixelFormatType_OneComponent16Half = 0x4C303068,  // 'L00h'
  kCVPixelFormatType_32BGRA = 0x42475241,              // 'BGRA'
};

// Options are ignored.
CVReturn CVPixelBufferCreate(const void* allocator, size_t width, size_t height, OSType format,
                             const void* attributes, CVPixelBufferRef* out);
CVPixelBufferRef CVPixelBufferRetain(CVPixelBufferRef buffer);
void CVPixelBufferRelease(CVPixelBufferRef buffer);
CVReturn CVPixelBufferLockBaseAddress(CVPixelBufferRef buffer, CVOptionFlags flags);
CVReturn CVPixelBufferUnlockBaseAddress(CVPixelBufferRef buffer, CVOptionFlags flags);
void* CVPixelBufferGetBaseAddress(CVPixelBufferRef buffer);
size_t CVPixelBufferGetBytesPerRow(CVPixelBufferRef buffer);
size_t CVPixelBufferGetWidth(CVPixelBufferRef buffer);
size_t CVPixelBufferGetHeight(CVPixelBufferRef buffer);
OSType CVPixelBufferGetPixelFormatType(CVPixelBufferRef buffer);

#ifdef __cplusplus
}
#endif
