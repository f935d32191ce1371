// Files of arrays: the C++ part of save() and load() in pippin/python/pippin/core/_files.py.
#include <string>

#include "pippin/mx/io/io.h"
#include "pippin/python/core/errors.h"
#include "pippin/python/core/families.h"
#include "pippin/python/core/function.h"
#include "pippin/python/core/object.h"
#include "pippin/python/interrupt.h"

namespace pippin::python::core {

namespace py = pybind11;

namespace {

py::object dict_of(const mx::ArrayMap& arrays) {
  py::dict result;
  for (const auto& [name, value] : arrays) {
    result[py::str(name)] = py::reinterpret_steal<py::object>(give(value));
  }
  return result;
}

// Evaluates the arrays, so that the GIL can be released.
mx::ArrayMap map_of(const Args& args, size_t i) {
  if (PyDict_Check(args.raw(i)) == 0) args.refuse(i, "a dict of arrays");
  mx::ArrayMap result;
  std::vector<mx::array> values;
  for (const auto& [name, value] : py::reinterpret_borrow<py::dict>(args.raw(i))) {
    if (!py::isinstance<py::str>(name) || !is_array(value.ptr())) {
      args.refuse(i, "a dict of names and arrays");
    }
    result.emplace_back(name.cast<std::string>(), value_of(value.ptr()));
    values.push_back(value_of(value.ptr()));
  }
  evaluate(values);
  return result;
}

mx::TextMap texts_of(const Args& args, size_t i) {
  if (!args.has(i)) return {};
  if (PyDict_Check(args.raw(i)) == 0) args.refuse(i, "a dict of str");
  mx::TextMap result;
  for (const auto& [name, value] : py::reinterpret_borrow<py::dict>(args.raw(i))) {
    if (!py::isinstance<py::str>(name) || !py::isinstance<py::str>(value)) {
      args.refuse(i, "a dict of str");
    }
    result[name.cast<std::string>()] = value.cast<std::string>();
  }
  return result;
}

template <typename Work>
auto unlocked(Work work) {
  std::optional<decltype(work())> result;
  run_call(nullptr, [&] { result.emplace(work()); });
  return *std::move(result);
}

py::object text_dict(const mx::TextMap& texts) {
  py::dict result;
  for (const auto& [name, value] : texts) result[py::str(name)] = py::str(value);
  return result;
}

py::object gguf_value(const mx::GgufValue& value) {
  if (const auto* a = std::get_if<mx::array>(&value)) {
    return py::reinterpret_steal<py::object>(give(*a));
  }
  if (const auto* text = std::get_if<std::string>(&value)) return py::str(*text);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    py::list result;
    for (const std::string& each : *texts) result.append(py::str(each));
    return result;
  }
  return py::none();
}

std::string bytes_of(const Args& args, size_t i) {
  if (PyBytes_Check(args.raw(i)) == 0) args.refuse(i, "bytes");
  return py::handle(args.raw(i)).cast<std::string>();
}

constexpr Definition kFilesFunctions[] = {
    {"_load_npy", "file",
     [](const Args& args) {
       const std::string file = args.text(0, "");
       return give(unlocked([&] { return mx::load_npy(file); }));
     }},
    {"_load_npz", "file",
     [](const Args& args) {
       const std::string file = args.text(0, "");
       return dict_of(unlocked([&] { return mx::load_npz(file); })).release().ptr();
     }},
    {"_load_safetensors", "file",
     [](const Args& args) {
       const std::string file = args.text(0, "");
       const auto [arrays, texts] = unlocked([&] { return mx::load_safetensors(file); });
       return py::make_tuple(dict_of(arrays), text_dict(texts)).release().ptr();
     }},
    {"_load_gguf", "file",
     [](const Args& args) {
       const std::string file = args.text(0, "");
       const auto [arrays, values] = unlocked([&] { return mx::load_gguf(file); });
       py::dict metadata;
       for (const auto& [name, value] : values) metadata[py::str(name)] = gguf_value(value);
       return py::make_tuple(dict_of(arrays), metadata).release().ptr();
     }},
    {"_parse_npy", "data, name",
     [](const Args& args) { return give(mx::parse_npy(bytes_of(args, 0), args.text(1, ""))); }},
    {"_parse_npz", "data, name",
     [](const Args& args) {
       return dict_of(mx::parse_npz(bytes_of(args, 0), args.text(1, ""))).release().ptr();
     }},
    {"_format_npy", "arr",
     [](const Args& args) {
       const mx::array a = args.array(0);
       evaluate(a);
       return py::bytes(mx::format_npy(a)).release().ptr();
     }},
    {"_save_npy", "file, arr",
     [](const Args& args) {
       const mx::array a = args.array(1);
       const std::string file = args.text(0, "");
       evaluate(a);
       run_call(nullptr, [&] { mx::save_npy(file, a); });
       return give_none();
     }},
    {"_save_npz", "file, arrays, compressed",
     [](const Args& args) {
       const mx::ArrayMap arrays = map_of(args, 1);
       const std::string file = args.text(0, "");
       const bool is_compressed = args.flag(2, false);
       run_call(nullptr, [&] { mx::save_npz(file, arrays, is_compressed); });
       return give_none();
     }},
    {"_save_safetensors", "file, arrays, metadata=None",
     [](const Args& args) {
       const mx::ArrayMap arrays = map_of(args, 1);
       const mx::TextMap texts = texts_of(args, 2);
       const std::string file = args.text(0, "");
       run_call(nullptr, [&] { mx::save_safetensors(file, arrays, texts); });
       return give_none();
     }},
};

}  // namespace

void bind_files(py::module_& module) {
  define(module, "pippin.core", kFilesFunctions);
}

}  // namespace pippin::python::core
