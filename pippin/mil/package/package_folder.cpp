#include "pippin/mil/package/package_folder.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/log.h"
#include "pippin/mil/package/files.h"
#include "pippin/mil/package/weights.h"

namespace pippin::mil {
namespace {

namespace fs = std::filesystem;

// Checks needed only by callers that access items by the manifest's fields.
void check_items(const Manifest& manifest, const fs::path& package) {
  const auto roots = allowed_roots(package);
  for (const ManifestItem& item : manifest.items) {
    const std::string what = fmt::format("Manifest.json: item {}", item.identifier);
    if (item.name.empty() || item.author.empty()) {
      fail(ErrorCode::InvalidFile, "{}: no {}", what, item.name.empty() ? "name" : "author");
    }
    if (!fs::exists(inside(package / "Data", item.path, roots, what))) {
      fail(ErrorCode::InvalidFile, "{}: no {}", what, item.path);
    }
  }
}

void make_package(const fs::path& path) {
  PendingOutput output(path.has_filename() ? path : path.parent_path());
  fs::create_directories(output.path() / "Data");
  FileWriter writer(output.path() / "Manifest.json");
  writer.write(print_manifest({}));
  writer.close();
  output.commit();
}

}  // namespace

PackageFolder::PackageFolder(fs::path path, bool create) : path_(std::move(path)) {
  with_package(path_, [&] {
    if (!fs::exists(path_)) {
      if (!create) fail(ErrorCode::NotFound, "no such package");
      make_package(path_);
    } else if (!fs::is_regular_file(path_ / "Manifest.json")) {
      fail(ErrorCode::NotFound, "no Manifest.json in it; not a package");
    }
    manifest_ = load_manifest(path_);
    check_items(manifest_, path_);
  });
}

bool PackageFolder::is_valid(const fs::path& path) noexcept {
  try {
    const PackageFolder opened(path, false);
    return true;
  } catch (const std::exception& error) {
    log_debug("{}", error.what());
    return false;
  }
}

std::string PackageFolder::copy_item(const fs::path& source, const ManifestItem& item,
                                     Manifest& manifest) const {
  constexpr std::string_view kWhat = "an item of a package";
  check_file_name(item.author, kWhat);
  if (item.name.empty()) check_file_name(item.name, kWhat);
  for (const fs::path& part : fs::path(item.name)) check_file_name(part.string(), kWhat);
  for (const ManifestItem& other : manifest.items) {
    if (other.name == item.name && other.author == item.author) {
      fail(ErrorCode::InvalidArgument, "there is an item '{}' of '{}' already", item.name,
           item.author);
    }
  }
  if (!fs::exists(source)) fail(ErrorCode::NotFound, "{}: no such file", source.string());
  ManifestItem listed = item;
  listed.path = (fs::path(item.author) / item.name).string();
  listed.identifier = manifest_identifier(listed.path);
  for (const ManifestItem& other : manifest.items) {
    if (other.path == listed.path || other.identifier == listed.identifier) {
      fail(ErrorCode::InvalidArgument, "{} belongs to the item '{}' of '{}'", listed.path,
           other.name, other.author);
    }
  }
  const fs::path target =
      inside(path_ / "Data", listed.path, allowed_roots(path_), "an item of a package");
  fs::create_directories(target.parent_path());
  PendingOutput output(target);
  fs::copy(source, output.path(), fs::copy_options::recursive);
  output.commit();
  manifest.items.push_back(listed);
  return listed.identifier;
}

void PackageFolder::write(Manifest manifest) {
  write_file(path_ / "Manifest.json", print_manifest(manifest));
  manifest_ = std::move(manifest);
}

std::string PackageFolder::add_item(const fs::path& source, const std::string& name,
                                    const std::string& author, const std::string& description) {
  return with_package(path_, [&] {
    Manifest manifest = manifest_;
    std::string identifier = copy_item(source, {"", "", name, author, description}, manifest);
    write(std::move(manifest));
    return identifier;
  });
}

std::string PackageFolder::set_root_model(const fs::path& source, const std::string& name,
                                          const std::string& author,
                                          const std::string& description) {
  with_package(path_, [&] {
    if (const ManifestItem* root = manifest_.find_root()) {
      fail(ErrorCode::InvalidArgument, "there is a root model already, '{}'", root->name);
    }
  });
  return replace_root_model(source, name, author, description);
}

std::string PackageFolder::replace_root_model(const fs::path& source, const std::string& name,
                                              const std::string& author,
                                              const std::string& description) {
  return with_package(path_, [&] {
    Manifest manifest = manifest_;
    fs::path old;
    if (const ManifestItem* root = manifest_.find_root()) old = path_of(*root);
    std::erase_if(manifest.items,
                  [&](const ManifestItem& item) { return item.identifier == manifest.root; });
    manifest.root = copy_item(source, {"", "", name, author, description}, manifest);
    write(std::move(manifest));
    const bool used =
        std::any_of(manifest_.items.begin(), manifest_.items.end(), [&](const ManifestItem& item) {
          return old.empty() || is_within(path_of(item).lexically_normal(), old.lexically_normal());
        });
    if (!used) fs::remove_all(old);
    return manifest_.root;
  });
}

const ManifestItem& PackageFolder::root_model() const {
  const ManifestItem* root = manifest_.find_root();
  if (root == nullptr) fail(ErrorCode::NotFound, "{}: no root model in it", package_name(path_));
  return *root;
}

const ManifestItem* PackageFolder::find_item(std::string_view name, std::string_view author) const {
  const auto found = std::find_if(
      manifest_.items.begin(), manifest_.items.end(),
      [&](const ManifestItem& item) { return item.name == name && item.author == author; });
  return found == manifest_.items.end() ? nullptr : &*found;
}

}  // namespace pippin::mil
