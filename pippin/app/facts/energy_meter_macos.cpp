// IOReport, which powermetrics also reads, gives users the figures that powermetrics shows to root.
// Apple does not document this interface: its functions are looked up when needed, and if a
// function or a counter is missing there is no figure.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <CoreFoundation/CoreFoundation.h>
#include <dlfcn.h>

#include "pippin/app/facts/energy_meter.h"

namespace pippin::app {
namespace {

constexpr const char* kLibrary = "/usr/lib/libIOReport.dylib";

// Owns one reference to an object.
template <typename Object>
class Owned {
 public:
  explicit Owned(Object object = nullptr) : object_(object) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Owned(Owned&& other) noexcept : object_(other.object_) { other.object_ = nullptr; }
  Owned& operator=(Owned&&) = delete;
  ~Owned() {
    if (object_ != nullptr) ::CFRelease(object_);
  }
  Object get() const { return object_; }

 private:
  Object object_;
};

Owned<CFStringRef> text(const char* characters) {
  return Owned(::CFStringCreateWithCString(nullptr, characters, kCFStringEncodingUTF8));
}

std::string text_of(CFStringRef string) {
  std::array<char, 256> characters{};
  if (string == nullptr ||
      !::CFStringGetCString(string, characters.data(), characters.size(), kCFStringEncodingUTF8)) {
    return {};
  }
  return characters.data();
}

struct IoReport {
  CFMutableDictionaryRef (*channels_in_group)(CFStringRef group, CFStringRef subgroup, uint64_t,
                                              uint64_t, uint64_t) = nullptr;
  CFTypeRef (*subscribe)(void*, CFMutableDictionaryRef wanted, CFMutableDictionaryRef* given,
                         uint64_t, CFTypeRef) = nullptr;
  CFDictionaryRef (*sample)(CFTypeRef subscription, CFMutableDictionaryRef channels,
                            CFTypeRef) = nullptr;
  CFDictionaryRef (*difference)(CFDictionaryRef before, CFDictionaryRef after, CFTypeRef) = nullptr;
  CFStringRef (*name)(CFDictionaryRef channel) = nullptr;
  CFStringRef (*unit)(CFDictionaryRef channel) = nullptr;
  int64_t (*value)(CFDictionaryRef channel, int32_t) = nullptr;

  // False if the system lacks part of it. The library stays loaded.
  bool load() {
    void* const library = ::dlopen(kLibrary, RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) return false;
    const auto find = [&](auto& function, const char* symbol) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, symbol));
      return function != nullptr;
    };
    return find(channels_in_group, "IOReportCopyChannelsInGroup") &&
           find(subscribe, "IOReportCreateSubscription") && find(sample, "IOReportCreateSamples") &&
           find(difference, "IOReportCreateSamplesDelta") &&
           find(name, "IOReportChannelGetChannelName") &&
           find(unit, "IOReportChannelGetUnitLabel") &&
           find(value, "IOReportSimpleGetIntegerValue");
  }
};

// Counts the whole CPU (of each die), the GPU, the Neural Engine and the memory: the group also has
// parts of these, which would count twice.
bool counts(std::string_view channel) {
  return channel.ends_with("CPU Energy") || channel == "GPU Energy" || channel.starts_with("ANE") ||
         channel.starts_with("DRAM");
}

std::optional<double> joules_of(std::string_view unit) {
  if (unit == "mJ") return 1e-3;
  if (unit == "uJ") return 1e-6;
  if (unit == "nJ") return 1e-9;
  return std::nullopt;
}

class IoReportMeter final : public EnergyMeter {
 public:
  IoReportMeter() {
    if (!report_.load()) return;
    const Owned<CFStringRef> group = text("Energy Model");
    const Owned channels(report_.channels_in_group(group.get(), nullptr, 0, 0, 0));
    if (channels.get() == nullptr) return;
    const Owned wanted(::CFDictionaryCreateMutableCopy(nullptr, 0, channels.get()));
    subscription_.emplace(report_.subscribe(nullptr, wanted.get(), &channels_, 0, nullptr));
    if (subscription_->get() == nullptr || channels_ == nullptr) return;
    first_.emplace(report_.sample(subscription_->get(), channels_, nullptr));
    tells_ = joules().has_value();
  }

  std::optional<double> joules() override {
    if (!first_ || first_->get() == nullptr) return std::nullopt;
    const Owned now(report_.sample(subscription_->get(), channels_, nullptr));
    if (now.get() == nullptr) return std::nullopt;
    const Owned used(report_.difference(first_->get(), now.get(), nullptr));
    if (used.get() == nullptr) return std::nullopt;
    const Owned<CFStringRef> key = text("IOReportChannels");
    const auto* const list = static_cast<CFArrayRef>(::CFDictionaryGetValue(used.get(), key.get()));
    std::optional<double> sum;
    for (CFIndex i = 0; list != nullptr && i < ::CFArrayGetCount(list); ++i) {
      const auto* const channel = static_cast<CFDictionaryRef>(::CFArrayGetValueAtIndex(list, i));
      const auto unit = joules_of(text_of(report_.unit(channel)));
      if (!unit || !counts(text_of(report_.name(channel)))) continue;
      sum = sum.value_or(0) + *unit * static_cast<double>(report_.value(channel, 0));
    }
    return sum;
  }

  std::string source() const override {
    return tells_ ? "of CPU, GPU, Neural Engine and memory, by IOReport"
                  : "not told: IOReport is not there or has other names (powermetrics tells root)";
  }

 private:
  IoReport report_;
  // Not released: its ownership is undocumented, and releasing an object of another owner ends the
  // process.
  CFMutableDictionaryRef channels_ = nullptr;
  std::optional<Owned<CFTypeRef>> subscription_;
  std::optional<Owned<CFDictionaryRef>> first_;
  bool tells_ = false;
};

}  // namespace

std::unique_ptr<EnergyMeter> open_energy_meter() {
  return std::make_unique<IoReportMeter>();
}

}  // namespace pippin::app
