#include "pippin/repl/image_paths.h"

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/files/temporary_folder.h"

namespace pippin::repl {
namespace {

class ImagePaths : public testing::Test {
 protected:
  ImagePaths() {
    write_file(folder_ / "a.png", "png");
    write_file(folder_ / "b c.JPG", "jpg");
    write_file(folder_ / "note.txt", "text");
  }
  std::string path(const char* name) const { return (folder_ / name).string(); }

  const TemporaryFolder folder_{"image-paths"};
};

TEST_F(ImagePaths, BecomeDataUrls) {
  EXPECT_EQ(image_url(path("a.png")), "data:image/png;base64,cG5n");
  EXPECT_EQ(image_url(path("b c.JPG")), "data:image/jpeg;base64,anBn");
  EXPECT_THROW(image_url(path("note.txt")), Error);
  EXPECT_THROW(image_url(path("absent.png")), Error);
  EXPECT_EQ(video_url(path("a.png")), "data:video/gif;base64,cG5n");
  EXPECT_EQ(video_url(folder_.path()), "data:video/jpeg;base64,cG5n,anBn,dGV4dA==");
  EXPECT_THROW(video_url(path("absent")), Error);
}

TEST_F(ImagePaths, AreTakenOutOfMessages) {
  std::string message = "What is in " + path("a.png") + " and '" + path("b c.JPG") + "'?";
  // The word includes the question mark.
  EXPECT_EQ(take_images(message).size(), 1U);
  message = path("a.png") + " What  is\nthis? \"" + path("b c.JPG") + "\"";
  const auto images = take_images(message);
  ASSERT_EQ(images.size(), 2U);
  EXPECT_EQ(images[1], "data:image/jpeg;base64,anBn");
  EXPECT_EQ(message, "What  is\nthis?");
  std::string escaped = path("b c.JPG");
  escaped.insert(escaped.find(' '), "\\");
  EXPECT_TRUE(begins_with_image(escaped));
  EXPECT_EQ(take_images(escaped).size(), 1U);
  EXPECT_EQ(escaped, "");
}

TEST_F(ImagePaths, OtherWordsStay) {
  const std::string text = "  Read " + path("note.txt") + ", it's \"so\\so\" absent.png  ";
  std::string message = text;
  EXPECT_TRUE(take_images(message).empty());
  EXPECT_EQ(message, text);
  EXPECT_FALSE(begins_with_image("/help"));
  EXPECT_FALSE(begins_with_image(""));
}

}  // namespace
}  // namespace pippin::repl
