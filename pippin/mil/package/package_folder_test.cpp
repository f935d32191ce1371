#include "pippin/mil/package/package_folder.h"

#include <gtest/gtest.h>

#include "pippin/base/error_testing.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/mil/package/compiled_testing.h"
#include "pippin/mil/package/package.h"

namespace pippin::mil {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAuthor = "com.apple.CoreML";

TEST(PackageFolder, PutsAPackageTogether) {
  const TempDir scratch;
  const fs::path path = scratch / "m.mlpackage";
  put_file(scratch / "model", "the model");
  put_file(scratch / "weights/a.bin", "first");
  put_file(scratch / "weights/more/b.bin", "second");
  std::string model;
  {
    PackageFolder folder(path);
    EXPECT_TRUE(PackageFolder::is_valid(path));
    EXPECT_ERROR(folder.root_model(), ErrorCode::NotFound, "m.mlpackage: no root model");
    model = folder.set_root_model(scratch / "model", "model.mlmodel", kAuthor, "Specification");
    const std::string weights = folder.add_item(scratch / "weights", "weights", kAuthor);
    EXPECT_NE(model, weights);
    EXPECT_ERROR(folder.add_item(scratch / "model", "weights", kAuthor), ErrorCode::InvalidArgument,
                 "m.mlpackage: there is an item 'weights' of 'com.apple.CoreML' already");
    EXPECT_ERROR(folder.set_root_model(scratch / "model", "other", kAuthor),
                 ErrorCode::InvalidArgument, "there is a root model already, 'model.mlmodel'");
  }
  const PackageFolder folder(path, false);
  const ManifestItem& root = folder.root_model();
  EXPECT_EQ(root.identifier, model);
  EXPECT_EQ(root.name, "model.mlmodel");
  EXPECT_EQ(root.description, "Specification");
  EXPECT_EQ(folder.path_of(root), path / "Data/com.apple.CoreML/model.mlmodel");
  EXPECT_EQ(read_file(folder.path_of(root)), "the model");
  const ManifestItem* weights = folder.find_item("weights", kAuthor);
  ASSERT_NE(weights, nullptr);
  EXPECT_EQ(read_file(folder.path_of(*weights) / "more/b.bin"), "second");
  EXPECT_EQ(folder.find_item("weights", "somebody"), nullptr);
}

TEST(PackageFolder, ReplacesTheModel) {
  const TempDir scratch;
  const fs::path path = scratch / "m.mlpackage";
  put_file(scratch / "a", "a");
  put_file(scratch / "b", "b");
  PackageFolder folder(path);
  folder.replace_root_model(scratch / "a", "model.mlmodel", kAuthor);
  folder.replace_root_model(scratch / "b", "model.mlmodel", kAuthor);
  EXPECT_EQ(read_file(folder.path_of(folder.root_model())), "b");
  folder.replace_root_model(scratch / "a", "other.mlmodel", kAuthor);
  EXPECT_EQ(read_file(path / "Data/com.apple.CoreML/other.mlmodel"), "a");
  EXPECT_FALSE(fs::exists(path / "Data/com.apple.CoreML/model.mlmodel"));
  EXPECT_ERROR(folder.replace_root_model(scratch / "none", "x", kAuthor), ErrorCode::NotFound,
               "none: no such file");
  EXPECT_EQ(PackageFolder(path, false).root_model().name, "other.mlmodel");
}

TEST(PackageFolder, ItsPackagesAreRead) {
  PIPPIN_SHARED_OR_SKIP(packages, "packages");
  const fs::path source = packages / "basic-pitch-nmp.mlpackage";
  const TempDir scratch;
  const PackageFolder original(source, false);
  PackageFolder copy(scratch / "copy.mlpackage");
  copy.set_root_model(original.path_of(original.root_model()), "model.mlmodel", kAuthor);
  const ManifestItem* weights = original.find_item("weights", kAuthor);
  ASSERT_NE(weights, nullptr);
  copy.add_item(original.path_of(*weights), "weights", kAuthor);
  EXPECT_EQ(serialize_model(read_package(copy.path())), serialize_model(read_package(source)));
}

TEST(PackageFolder, RefusesWhatIsNoPackage) {
  const TempDir scratch;
  const fs::path path = scratch / "m.mlpackage";
  EXPECT_ERROR(PackageFolder(path, false), ErrorCode::NotFound, "m.mlpackage: no such package");
  EXPECT_FALSE(PackageFolder::is_valid(path));
  EXPECT_FALSE(fs::exists(path));
  EXPECT_ERROR(PackageFolder(scratch.path() / "none" / "m.mlpackage"), ErrorCode::NotFound, "none");
  fs::create_directory(path);
  EXPECT_ERROR(PackageFolder{path}, ErrorCode::NotFound, "no Manifest.json in it");
  const auto error = [&](const std::string& item) {
    put_file(path / "Manifest.json",
             R"({"fileFormatVersion": "1.0.0", "itemInfoEntries": {"A": {)" + item + "}}}");
    return thrown_message([&] { const PackageFolder folder(path); });
  };
  put_file(path / "Data/x/y", "");
  const std::string rest = R"(, "name": "y", "author": "x", "description": "")";
  EXPECT_EQ(error(R"("path": "x/y")" + rest), "no error");
  EXPECT_NE(error(R"("path": "x/z")" + rest).find("item A: no x/z"), std::string::npos);
  EXPECT_NE(error(R"("path": "../m")" + rest).find("leads out of the package"), std::string::npos);
  EXPECT_NE(error(R"("path": "x/y", "name": "y")").find("item A: no author"), std::string::npos);
}

TEST(PackageFolder, ItemsStayInside) {
  const TempDir scratch;
  put_file(scratch / "file", "");
  fs::create_directory(scratch / "outside");
  PackageFolder folder(scratch / "m.mlpackage");
  for (const char* name : {"", "..", "../x", "/x", "a/../../x"}) {
    EXPECT_ERROR(folder.add_item(scratch / "file", name, "author"), ErrorCode::InvalidArgument,
                 "is not a file name for an item of a package");
  }
  EXPECT_ERROR(folder.add_item(scratch / "file", "x", "a/b"), ErrorCode::InvalidArgument,
               "'a/b' is not a file name");
  fs::create_directory_symlink(scratch / "outside", folder.path() / "Data" / "author");
  EXPECT_ERROR(folder.add_item(scratch / "file", "x", "author"), ErrorCode::InvalidFile,
               "is a link out of the package");
  EXPECT_TRUE(fs::is_empty(scratch / "outside"));
  // Another item's file under another name.
  folder.add_item(scratch / "file", "b/c", "other");
  EXPECT_EQ(folder.find_item("b/c", "other")->path, "other/b/c");
}

}  // namespace
}  // namespace pippin::mil
