#include <algorithm>
#include <atomic>
#include <cstdlib>

#include <CoreVideo/CoreVideo.h>

#include "tests/coreml/standin.h"

// Rows are padded to 64 bytes, and by another 64, so that code cannot ignore it.
struct __CVPixelBuffer {
  std::atomic<int> references = 1;
  std::atomic<int> locks = 0;
  size_t width, height, row;
  OSType format;
  unsigned char* data;
};

CVReturn CVPixelBufferCreate(const void* /*allocator*/, size_t width, size_t height, OSType format,
                             const void* /*attributes*/, CVPixelBufferRef* out) {
  size_t item = 0;
  if (format == kCVPixelFormatType_32BGRA) item = 4;
  if (format == kCVPixelFormatType_OneComponent8) item = 1;
  if (format == kCVPixelFormatType_OneComponent16Half) item = 2;
  if (item == 0 || width == 0 || height == 0) return -6680;
  auto* const buffer = new __CVPixelBuffer;
  buffer->width = width;
  buffer->height = height;
  buffer->format = format;
  buffer->row = (width * item + 63) / 64 * 64 + 64;
  buffer->data = new unsigned char[buffer->row * height];
  std::fill_n(buffer->data, buffer->row * height, 0xFF);
  *out = buffer;
  return kCVReturnSuccess;
}

CVPixelBufferRef CVPixelBufferRetain(CVPixelBufferRef buffer) {
  if (buffer != nullptr) ++buffer->references;
  return buffer;
}

void CVPixelBufferRelease(CVPixelBufferRef buffer) {
  if (buffer == nullptr || --buffer->references > 0) return;
  delete[] buffer->data;
  delete buffer;
}

CVReturn CVPixelBufferLockBaseAddress(CVPixelBufferRef buffer, CVOptionFlags /*flags*/) {
  ++buffer->locks;
  return kCVReturnSuccess;
}

CVReturn CVPixelBufferUnlockBaseAddress(CVPixelBufferRef buffer, CVOptionFlags /*flags*/) {
  if (--buffer->locks < 0) pippin::standin::add_fault("a picture was unlocked twice");
  return kCVReturnSuccess;
}

void* CVPixelBufferGetBaseAddress(CVPixelBufferRef buffer) {
  if (buffer->locks <= 0) pippin::standin::add_fault("a picture was used without its lock");
  return buffer->data;
}

size_t CVPixelBufferGetBytesPerRow(CVPixelBufferRef buffer) {
  return buffer->row;
}
size_t CVPixelBufferGetWidth(CVPixelBufferRef buffer) {
  return buffer->width;
}
size_t CVPixelBufferGetHeight(CVPixelBufferRef buffer) {
  return buffer->height;
}
OSType CVPixelBufferGetPixelFormatType(CVPixelBufferRef buffer) {
  return buffer->format;
}
