// Packages as folders of files, with coremltools' names.
#include <optional>
#include <string>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "pippin/mil/package/package_folder.h"
#include "pippin/python/bindings.h"
#include "pippin/python/docstrings.h"
#include "pippin/python/errors.h"

namespace pippin::python {
namespace {

namespace py = pybind11;

// A snapshot of an item, taken when it was looked up.
struct ItemInfo {
  mil::ManifestItem item;
  std::string path;
};

class ModelPackage {
 public:
  explicit ModelPackage(const std::string& path) : folder_(path) {}

  std::string path() const { return folder_.path().string(); }

  using Add = std::string (mil::PackageFolder::*)(const std::filesystem::path&, const std::string&,
                                                  const std::string&, const std::string&);
  template <Add add>
  std::string take(const std::string& source, const std::string& name, const std::string& author,
                   const std::string& description) {
    std::string identifier;
    without_lock([&] { identifier = (folder_.*add)(source, name, author, description); });
    return identifier;
  }

  ItemInfo root_model() const { return info_of(folder_.root_model()); }

  std::optional<ItemInfo> find(const std::string& name, const std::string& author) const {
    const mil::ManifestItem* item = folder_.find_item(name, author);
    if (item == nullptr) return std::nullopt;
    return info_of(*item);
  }

 private:
  ItemInfo info_of(const mil::ManifestItem& item) const {
    return {item, folder_.path_of(item).string()};
  }

  mil::PackageFolder folder_;
};

}  // namespace

void bind_packages(py::module_& module) {
  py::class_<ItemInfo>(module, "ModelPackageItemInfo", docs::kPackageItem)
      .def(
          "identifier", [](const ItemInfo& info) { return info.item.identifier; }, "A unique name.")
      .def(
          "path", [](const ItemInfo& info) { return info.path; }, "Where it lies.")
      .def(
          "name", [](const ItemInfo& info) { return info.item.name; }, "Its name.")
      .def(
          "author", [](const ItemInfo& info) { return info.item.author; }, "Who made it.")
      .def(
          "description", [](const ItemInfo& info) { return info.item.description; },
          "Its purpose.");

  using Folder = mil::PackageFolder;
  py::class_<ModelPackage>(module, "ModelPackage", docs::kPackage)
      .def(py::init<const std::string&>(), py::arg("path"))
      .def("path", &ModelPackage::path, "Where it lies.")
      .def("setRootModel", &ModelPackage::take<&Folder::set_root_model>, py::arg("path"),
           py::arg("name"), py::arg("author"), py::arg("description") = "",
           "Copies the model into a package that has none. Returns its identifier.")
      .def("replaceRootModel", &ModelPackage::take<&Folder::replace_root_model>, py::arg("path"),
           py::arg("name"), py::arg("author"), py::arg("description") = "",
           "The same, replacing an existing model.")
      .def("addItem", &ModelPackage::take<&Folder::add_item>, py::arg("path"), py::arg("name"),
           py::arg("author"), py::arg("description") = "",
           "Copies a file or folder into the package. Returns its identifier.")
      .def("getRootModel", &ModelPackage::root_model, "The item that is the model.")
      .def_static(
          "isValid", [](const std::string& path) { return Folder::is_valid(path); },
          py::arg("path"), "Whether there is a package.")
      .def("findItemByNameAuthor", &ModelPackage::find, py::arg("name"), py::arg("author"),
           "The item, or None.");
}

}  // namespace pippin::python
