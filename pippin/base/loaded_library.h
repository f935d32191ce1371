// Shared libraries that are loaded on first use instead of at the start of the program.
#pragma once

#include <string>
#include <string_view>

namespace pippin {

class LoadedLibrary {
 public:
  // Loads libNAME.so.VERSION, on macOS libNAME.VERSION.dylib. It is never unloaded, because threads
  // may be in it. Throws Unsupported with the system's reason; `purpose` starts the message:
  // "downloads need libcurl".
  LoadedLibrary(std::string_view name, int version, std::string_view purpose);

  // Sets `function` to the library's function `name`. Throws Unsupported if it has none.
  template <typename Function>
  void find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(address(name));
  }

 private:
  void* address(const char* name) const;

  void* handle_ = nullptr;
  std::string name_;
};

}  // namespace pippin
