#include "pippin/mx/nn/module.h"

#include <algorithm>
#include <unordered_map>

#include "pippin/base/error.h"
#include "pippin/mx/ops/unary.h"

namespace pippin::mx::nn {
namespace {

std::string joined(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

}  // namespace

Module::~Module() = default;
Layer::~Layer() = default;

std::shared_ptr<Module> Module::to_quantized(int, int, const std::string&) const {
  return nullptr;
}

// Visits slots below a module, parents first, with their full names.
class Module::Walk {
 public:
  using Visit = std::function<void(const std::string& path, Slot& slot)>;

  static void all(const Module& module, const Visit& visit) {
    Walk walk(visit);
    walk.below(module, "");
  }

 private:
  explicit Walk(const Visit& visit) : visit_(visit) {}

  void below(const Module& module, const std::string& path) {
    if (std::find(open_.begin(), open_.end(), &module) != open_.end()) {
      fail(ErrorCode::InvalidArgument, "[nn] The module {} contains itself.", path);
    }
    open_.push_back(&module);
    for (const auto& slot : module.slots_) {
      const std::string name = joined(path, slot->name);
      visit_(name, *slot);
      if (slot->module) below(*slot->module, name);
    }
    open_.pop_back();
  }

  const Visit& visit_;
  std::vector<const Module*> open_;  // the modules on the path to the current one
};

ArrayMap Module::parameters() const {
  ArrayMap result;
  Walk::all(*this, [&](const std::string& path, Slot& slot) {
    if (slot.value) result.emplace_back(path, *slot.value);
  });
  return result;
}

std::vector<std::pair<std::string, std::shared_ptr<Module>>> Module::children() const {
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> result;
  for (const auto& slot : slots_) {
    if (slot->module) result.emplace_back(slot->name, slot->module);
  }
  return result;
}

std::vector<std::pair<std::string, Module*>> Module::named_modules() {
  std::vector<std::pair<std::string, Module*>> result = {{"", this}};
  Walk::all(*this, [&](const std::string& path, Slot& slot) {
    if (slot.module) result.emplace_back(path, slot.module.get());
  });
  return result;
}

void Module::update(const ArrayMap& arrays, bool strict) {
  std::unordered_map<std::string, Slot*> slots;
  Walk::all(*this, [&](const std::string& path, Slot& slot) {
    if (slot.value) slots.emplace(path, &slot);
  });
  std::vector<std::pair<Slot*, const array*>> changes;
  for (const auto& [name, value] : arrays) {
    const auto found = slots.find(name);
    if (found == slots.end()) {
      if (!strict) continue;
      fail(ErrorCode::InvalidArgument, "[update] {} is not a parameter of the module.", name);
    }
    const array& held = *found->second->value;
    if (!(held.shape() == value.shape()) ||
        is_floating(held.dtype()) != is_floating(value.dtype())) {
      fail(ErrorCode::InvalidArgument,
           "[update] {}: expected shape {} of {}, found shape {} of {}.", name,
           to_string(held.shape()), is_floating(held.dtype()) ? "floats" : to_string(held.dtype()),
           to_string(value.shape()), to_string(value.dtype()));
    }
    changes.emplace_back(found->second, &value);
  }
  for (const auto& [slot, value] : changes) slot->value->overwrite(*value);
}

void Module::apply(const std::function<array(const array&)>& change) {
  ArrayMap changed;
  for (const auto& [name, value] : parameters()) changed.emplace_back(name, change(value));
  update(changed);
}

void Module::set_dtype(Dtype dtype) {
  if (!is_floating(dtype)) {
    fail(ErrorCode::InvalidArgument, "[set_dtype] {} is not a floating-point type.",
         to_string(dtype));
  }
  apply([dtype](const array& a) { return is_floating(a.dtype()) ? astype(a, dtype) : a; });
}

std::shared_ptr<Slot> Module::place_of(const std::string& path) {
  std::shared_ptr<Slot> place;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    const auto& slots = place ? place->module->slots_ : slots_;
    const auto found = std::find_if(slots.begin(), slots.end(), [&](const auto& slot) {
      return slot->name == name && slot->module;
    });
    if (found == slots.end()) fail(ErrorCode::NotFound, "[nn] There is no module {}.", path);
    place = std::shared_ptr<Slot>(*found);
    begin = end + 1;
  }
  return place;
}

Module& Module::at(const std::string& path) {
  return path.empty() ? *this : *place_of(path)->module;
}

void Module::replace(const std::string& path, std::shared_ptr<Module> module) {
  const std::shared_ptr<Slot> place = place_of(path);
  if (!place->fits(module.get())) {
    fail(ErrorCode::InvalidArgument,
         "[nn] {} is declared as a type that the new module is not; as a Child<Layer> it could be "
         "replaced.",
         path);
  }
  place->module = std::move(module);
}

void Module::check_new(const std::string& name) const {
  if (name.empty() || name.find('.') != std::string::npos) {
    fail(ErrorCode::InvalidArgument, "[nn] \"{}\" is not a name for a member.", name);
  }
  for (const auto& slot : slots_) {
    if (slot->name == name) {
      fail(ErrorCode::InvalidArgument, "[nn] A module has two members called {}.", name);
    }
  }
}

std::shared_ptr<Slot> Module::add(const std::string& name, array value) {
  check_new(name);
  slots_.push_back(std::make_shared<Slot>(Slot{name, std::move(value), nullptr, nullptr}));
  return slots_.back();
}

std::shared_ptr<Slot> Module::add(const std::string& name, std::shared_ptr<Module> module,
                                  Fits fits) {
  check_new(name);
  if (!module) fail(ErrorCode::InvalidArgument, "[nn] The member {} is not a module.", name);
  slots_.push_back(std::make_shared<Slot>(Slot{name, std::nullopt, std::move(module), fits}));
  return slots_.back();
}

}  // namespace pippin::mx::nn
