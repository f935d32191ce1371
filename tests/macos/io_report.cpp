// A stand-in for IOReport and the parts of Core Foundation needed to read it: counted objects, and
// the channels of mac().
#include <cstring>
#include <deque>
#include <utility>

#include <CoreFoundation/CoreFoundation.h>
#include <dlfcn.h>

#include "tests/macos/stubs.h"

namespace pippin {
namespace {

struct Object {
  std::string text;                        // of a string
  std::vector<EnergyChannel> channels;     // of a dictionary
  std::vector<const EnergyChannel*> list;  // for an array; owned by its dictionary
};

Object* make(Object object) {
  ++mac().objects;
  return new Object(std::move(object));
}

template <typename Ref>
const Object& at(Ref ref) {
  return *reinterpret_cast<const Object*>(ref);
}

// Objects that IOReport's functions return without transferring ownership.
std::deque<Object>& lent() {
  static std::deque<Object> all;
  return all;
}

template <typename Ref>
Ref lend(Object object) {
  lent().push_back(std::move(object));
  return reinterpret_cast<Ref>(&lent().back());
}

CFMutableDictionaryRef channels_in_group(CFStringRef group, CFStringRef subgroup, uint64_t,
                                         uint64_t, uint64_t) {
  if (at(group).text != "Energy Model" || subgroup != nullptr || mac().energy.empty()) {
    return nullptr;
  }
  return reinterpret_cast<CFMutableDictionaryRef>(make({}));
}

CFTypeRef subscribe(void*, CFMutableDictionaryRef wanted, CFMutableDictionaryRef* given, uint64_t,
                    CFTypeRef) {
  if (wanted == nullptr) return nullptr;
  *given = lend<CFMutableDictionaryRef>({});
  return make({});
}

CFDictionaryRef sample(CFTypeRef subscription, CFMutableDictionaryRef channels, CFTypeRef) {
  if (subscription == nullptr || channels == nullptr) return nullptr;
  return reinterpret_cast<CFDictionaryRef>(make({{}, mac().energy, {}}));
}

CFDictionaryRef difference(CFDictionaryRef before, CFDictionaryRef after, CFTypeRef) {
  Object result{{}, at(after).channels, {}};
  for (size_t i = 0; i < result.channels.size(); ++i) {
    result.channels[i].value -= at(before).channels[i].value;
  }
  return reinterpret_cast<CFDictionaryRef>(make(std::move(result)));
}

const EnergyChannel& channel_at(CFDictionaryRef channel) {
  return *reinterpret_cast<const EnergyChannel*>(channel);
}

CFStringRef name(CFDictionaryRef channel) {
  return lend<CFStringRef>({channel_at(channel).name, {}, {}});
}
CFStringRef unit(CFDictionaryRef channel) {
  return lend<CFStringRef>({channel_at(channel).unit, {}, {}});
}
int64_t value(CFDictionaryRef channel, int32_t) {
  return channel_at(channel).value;
}

template <typename Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

extern "C" {

void* macos_dlopen(const char* path, int /*mode*/) {
  return mac().has_io_report && std::strcmp(path, "/usr/lib/libIOReport.dylib") == 0 ? &mac()
                                                                                     : nullptr;
}

void* macos_dlsym(void* /*library*/, const char* symbol) {
  const std::map<std::string, void*> all = {
      {"IOReportCopyChannelsInGroup", address(channels_in_group)},
      {"IOReportCreateSubscription", address(subscribe)},
      {"IOReportCreateSamples", address(sample)},
      {"IOReportCreateSamplesDelta", address(difference)},
      {"IOReportChannelGetChannelName", address(name)},
      {"IOReportChannelGetUnitLabel", address(unit)},
      {"IOReportSimpleGetIntegerValue", address(value)},
  };
  const auto found = all.find(symbol);
  return found == all.end() || symbol == mac().missing_symbol ? nullptr : found->second;
}

void CFRelease(CFTypeRef object) {
  --mac().objects;
  delete static_cast<const Object*>(object);
}

CFStringRef CFStringCreateWithCString(CFAllocatorRef, const char* characters, CFStringEncoding) {
  return reinterpret_cast<CFStringRef>(make({characters, {}, {}}));
}

Boolean CFStringGetCString(CFStringRef string, char* buffer, CFIndex size, CFStringEncoding) {
  const std::string& text = at(string).text;
  if (std::cmp_less_equal(size, text.size())) return 0;
  std::memcpy(buffer, text.c_str(), text.size() + 1);
  return 1;
}

CFMutableDictionaryRef CFDictionaryCreateMutableCopy(CFAllocatorRef, CFIndex,
                                                     CFDictionaryRef dictionary) {
  return reinterpret_cast<CFMutableDictionaryRef>(make(at(dictionary)));
}

const void* CFDictionaryGetValue(CFDictionaryRef dictionary, const void* key) {
  if (static_cast<const Object*>(key)->text != "IOReportChannels") return nullptr;
  Object list;
  for (const EnergyChannel& channel : at(dictionary).channels) list.list.push_back(&channel);
  return lend<const void*>(std::move(list));
}

CFIndex CFArrayGetCount(CFArrayRef array) {
  return std::ssize(at(array).list);
}

const void* CFArrayGetValueAtIndex(CFArrayRef array, CFIndex index) {
  return at(array).list.at(static_cast<size_t>(index));
}

}  // extern "C"

}  // namespace pippin
