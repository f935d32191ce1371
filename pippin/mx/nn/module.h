// Modules: trees of named arrays, written as a struct whose members are handles.
//
//   struct Block : nn::Module {
//     Block(int dims, int hidden)
//         : norm(*this, "norm", nn::RMSNorm(dims)), mlp(*this, "mlp", nn::SwiGLU(dims, hidden)) {}
//     mx::array operator()(const mx::array& x) const { return x + mlp(norm(x)); }
//     nn::Child<> norm, mlp;
//   };
//
// A member's name is its part of the names of all parameters below it ("mlp.up_proj.weight"). A
// Child is a pointer to what the module has under that name at the time, so that quantize() can put
// another layer there; a Parameter is one to an array.
//
// Modules move and are not copied. Names that are given twice, names with dots, modules that
// contain themselves, and arrays that do not fit are InvalidArgument, with the whole name.
#pragma once

#include <concepts>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pippin/mx/array.h"
#include "pippin/mx/io.h"

namespace pippin::mx::nn {

class Module;

// Whether a module may take a place.
using Fits = bool (*)(const Module*);

// What a module has under a name: an array, or another module.
struct Slot {
  std::string name;
  std::optional<array> value;
  std::shared_ptr<Module> module;
  Fits fits;
};

struct WeightOptions {
  bool strict = true;  // the weights and the parameters have the same names
  // Weights with one of these in their names are left out.
  std::vector<std::string> ignore = {};
  // What a weight is called here; nothing: it is left out.
  std::function<std::optional<std::string>(const std::string& name)> rename = {};
};

class PIPPIN_API Module {
 public:
  Module() = default;
  Module(const Module&) = delete;
  Module(Module&&) noexcept = default;
  Module& operator=(const Module&) = delete;
  Module& operator=(Module&&) noexcept = default;
  virtual ~Module();

  // All arrays of the tree with their whole names, in the order of declaration.
  ArrayMap parameters() const;
  // The modules right below.
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> children() const;
  // This module, as "", and all below it, each before what it contains.
  std::vector<std::pair<std::string, Module*>> named_modules();

  // Sets parameters by their whole names. The shapes have to be the parameters', and floats stay
  // floats; of which type is the caller's. `strict`: a name that no parameter has is an error. All
  // is checked before anything is set.
  void update(const ArrayMap& arrays, bool strict = true);
  // The same, and `strict` asks for every parameter.
  void load_weights(const ArrayMap& weights, bool strict = true);
  // From .safetensors, .npz, .bin (PyTorch), .gguf, or a folder of those (load_checkpoint).
  // Layers whose weights are quantized there (NAME.scales beside NAME.weight) become quantized
  // ones. Errors begin with the path.
  void load_weights(const std::filesystem::path& path, const WeightOptions& options = {});
  // As .safetensors or .npz.
  void save_weights(const std::filesystem::path& file) const;

  // Replaces every parameter by what `change` makes of it, of the same shape.
  void apply(const std::function<array(const array&)>& change);
  // Casts parameters of floats; others stay.
  void set_dtype(Dtype dtype);

  // The module of that whole name: NotFound where there is none.
  Module& at(const std::string& path);
  // Puts a module in the place of another.
  void replace(const std::string& path, std::shared_ptr<Module> module);

  // What quantize() puts in this module's place; null for what stays as it is.
  virtual std::shared_ptr<Module> to_quantized(int group_size, int bits,
                                               const std::string& mode) const;

  // For handles: a new name.
  std::shared_ptr<Slot> add(const std::string& name, array value);
  std::shared_ptr<Slot> add(const std::string& name, std::shared_ptr<Module> module, Fits fits);

 private:
  class Walk;
  void check_new(const std::string& name) const;
  std::shared_ptr<Slot> place_of(const std::string& path);

  std::vector<std::shared_ptr<Slot>> slots_;
};

// A module that makes an array of an array.
class PIPPIN_API Layer : public Module {
 public:
  Layer() = default;
  Layer(Layer&&) noexcept = default;
  Layer& operator=(Layer&&) noexcept = default;
  ~Layer() override;
  virtual array operator()(const array& x) const = 0;
};

// A member that is an array.
class Parameter {
 public:
  Parameter(Module& of, const std::string& name, array value)
      : slot_(of.add(name, std::move(value))) {}

  const array& operator*() const { return *slot_->value; }
  const array* operator->() const { return &*slot_->value; }
  operator const array&() const {  // NOLINT(google-explicit-constructor): it is read as an array
    return *slot_->value;
  }

 private:
  std::shared_ptr<Slot> slot_;
};

// A member that is a module of type M or derived from it.
template <typename M = Layer>
class Child {
 public:
  template <std::derived_from<M> N>
  Child(Module& of, const std::string& name, N module)
      : Child(of, name, std::make_shared<N>(std::move(module))) {}
  // One that other modules may have too: it is then a parameter of each.
  template <std::derived_from<M> N>
  Child(Module& of, const std::string& name, std::shared_ptr<N> module)
      : slot_(of.add(name, std::move(module), [](const Module* other) {
          return dynamic_cast<const M*>(other) != nullptr;
        })) {}

  M& operator*() const { return static_cast<M&>(*slot_->module); }
  M* operator->() const { return &**this; }
  template <typename... Args>
  decltype(auto) operator()(Args&&... args) const {
    return (**this)(std::forward<Args>(args)...);
  }

 private:
  std::shared_ptr<Slot> slot_;
};

// Modules called "0", "1" and so on.
template <typename M = Layer>
class List : public Module {
 public:
  template <std::derived_from<M> N>
  void push_back(N module) {
    children_.emplace_back(*this, std::to_string(children_.size()), std::move(module));
  }
  size_t size() const { return children_.size(); }
  M& operator[](size_t index) const { return *children_[index]; }
  auto begin() const { return children_.begin(); }
  auto end() const { return children_.end(); }

 private:
  std::vector<Child<M>> children_;
};

}  // namespace pippin::mx::nn
