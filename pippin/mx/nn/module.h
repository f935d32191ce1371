// Modules: trees of named arrays, written as a struct whose members are handles.
//
//   struct Block : nn::Module {
//     Block(int dims, int hidden)
//         : norm(*this, "norm", nn::RMSNorm(dims)), mlp(*this, "mlp", nn::SwiGLU(dims, hidden)) {}
//     mx::array operator()(const mx::array& x) const { return x + mlp(norm(x)); }
//     nn::Child<> norm, mlp;
//   };
//
// A member's name is a component of the names of all parameters below it ("mlp.up_proj.weight"). A
// Child points to the module currently stored under that name, so that quantize() can replace the
// layer; a Parameter points to an array.
//
// Modules are movable but not copyable. Duplicate names, names with dots, modules that contain
// themselves, and arrays that do not fit are InvalidArgument, with the full name.
#pragma once

#include <concepts>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pippin/mx/core/array.h"
#include "pippin/mx/io/io.h"

namespace pippin::mx::nn {

class Module;

// Whether a module may be stored in a slot.
using Fits = bool (*)(const Module*);

// The value of a name in a module: an array or another module.
struct Slot {
  std::string name;                // the name in the module
  std::optional<array> value;      // the array, if it is one
  std::shared_ptr<Module> module;  // the module, if it is one
  Fits fits;                       // decides whether a module may replace this one
};

// Options of Module::load_weights().
struct WeightOptions {
  bool strict = true;  // requires weights and parameters to have the same names
  // Weights whose names contain one of these are skipped.
  std::vector<std::string> ignore = {};
  // Maps the name of a weight to the module's name; nullopt skips the weight.
  std::function<std::optional<std::string>(const std::string& name)> rename = {};
};

// A tree of named arrays and modules.
class PIPPIN_API Module {
 public:
  Module() = default;
  Module(const Module&) = delete;
  Module(Module&&) noexcept = default;
  Module& operator=(const Module&) = delete;
  Module& operator=(Module&&) noexcept = default;
  virtual ~Module();

  // Returns all arrays of the tree with their full names, in the order of declaration.
  ArrayMap parameters() const;
  // Returns the direct child modules by name.
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> children() const;
  // Returns this module, as "", and all modules below it, parents first.
  std::vector<std::pair<std::string, Module*>> named_modules();

  // Sets parameters by their full names. Shapes must match the parameters', and floats must stay
  // floats, of any type. With `strict`, a name that is not a parameter is an error; otherwise it is
  // ignored. Throws InvalidArgument, with the name, before anything is set.
  void update(const ArrayMap& arrays, bool strict = true);
  // As update(), but layers whose weights are quantized become quantized layers (quantize_like()),
  // and `strict` also requires every parameter.
  void load_weights(const ArrayMap& weights, bool strict = true);
  // Loads .safetensors, .npz, .bin (PyTorch), .gguf, or a folder of those (load_checkpoint()).
  // Throws its errors, and InvalidArgument, beginning with the path, for weights that do not fit or
  // have equal names.
  void load_weights(const std::filesystem::path& path, const WeightOptions& options = {});
  // Saves all parameters as .safetensors or .npz. Throws InvalidArgument for another extension, Io.
  void save_weights(const std::filesystem::path& file) const;

  // Replaces every parameter by the result of `change`. Throws InvalidArgument if that has another
  // shape.
  void apply(const std::function<array(const array&)>& change);
  // Casts floating-point parameters; leaves others unchanged. Throws InvalidArgument for types that
  // are not floats.
  void set_dtype(Dtype dtype);

  // Returns the module with that full name; itself for "". Throws NotFound if there is none.
  Module& at(const std::string& path);
  // Replaces a module by another. Throws NotFound, or InvalidArgument if it is declared as a type
  // that the other one is not.
  void replace(const std::string& path, std::shared_ptr<Module> module);

  // Returns the module that quantize() replaces this one by; null, the default: unchanged.
  virtual std::shared_ptr<Module> to_quantized(int group_size, int bits,
                                               const std::string& mode) const;

  // Adds a name, for handles. Throws InvalidArgument for an empty name, one with dots, and one that
  // exists.
  std::shared_ptr<Slot> add(const std::string& name, array value);
  std::shared_ptr<Slot> add(const std::string& name, std::shared_ptr<Module> module, Fits fits);

 private:
  class Walk;
  void check_new(const std::string& name) const;
  std::shared_ptr<Slot> place_of(const std::string& path);

  std::vector<std::shared_ptr<Slot>> slots_;
};

// A module that maps an array to an array.
class PIPPIN_API Layer : public Module {
 public:
  Layer() = default;
  Layer(Layer&&) noexcept = default;
  Layer& operator=(Layer&&) noexcept = default;
  ~Layer() override;
  // Returns the layer's output; each layer says its shape.
  virtual array operator()(const array& x) const = 0;
};

// A member that is an array.
class Parameter {
 public:
  // Adds the array to a module under this name.
  Parameter(Module& of, const std::string& name, array value)
      : slot_(of.add(name, std::move(value))) {}

  // The current array:
  const array& operator*() const { return *slot_->value; }
  const array* operator->() const { return &*slot_->value; }
  operator const array&() const {  // NOLINT(google-explicit-constructor): used as an array
    return *slot_->value;
  }

 private:
  std::shared_ptr<Slot> slot_;
};

// A member that is a module of type M or derived from it.
template <typename M = Layer>
class Child {
 public:
  // Adds the module to another one under this name.
  template <std::derived_from<M> N>
  Child(Module& of, const std::string& name, N module)
      : Child(of, name, std::make_shared<N>(std::move(module))) {}
  // A module that other modules may share: it is then a parameter of each.
  template <std::derived_from<M> N>
  Child(Module& of, const std::string& name, std::shared_ptr<N> module)
      : slot_(of.add(name, std::move(module), [](const Module* other) {
          return dynamic_cast<const M*>(other) != nullptr;
        })) {}

  // The current module:
  M& operator*() const { return static_cast<M&>(*slot_->module); }
  M* operator->() const { return &**this; }
  // Calls the current module.
  template <typename... Args>
  decltype(auto) operator()(Args&&... args) const {
    return (**this)(std::forward<Args>(args)...);
  }

 private:
  std::shared_ptr<Slot> slot_;
};

// Modules named "0", "1", ... by position.
template <typename M = Layer>
class List : public Module {
 public:
  // Appends a module.
  template <std::derived_from<M> N>
  void push_back(N module) {
    children_.emplace_back(*this, std::to_string(children_.size()), std::move(module));
  }
  // The number of modules.
  size_t size() const { return children_.size(); }
  // The module at an index; not checked.
  M& operator[](size_t index) const { return *children_[index]; }
  // Iterates over the handles:
  auto begin() const { return children_.begin(); }
  auto end() const { return children_.end(); }

 private:
  std::vector<Child<M>> children_;
};

}  // namespace pippin::mx::nn
