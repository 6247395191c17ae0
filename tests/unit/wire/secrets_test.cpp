// Key files: what is accepted, and what an operator reads when it is not.
#include "agent/wire/secrets.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace weft::wire {
namespace {

using testing::HasSubstr;

class KeyFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "weft-key-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file_with(const std::string& text, mode_t mode = 0600) const {
    const std::string path = folder_ / "key";
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }

  std::filesystem::path folder_;
};

TEST_F(KeyFile, ReadsWhatGenkeyMakes) {
  const std::string first = generate_key().value();
  const std::string second = generate_key().value();
  EXPECT_EQ(first.size(), 44U);
  EXPECT_NE(first, second);
  const auto psk = read_key_file(file_with(first + "\n"));
  ASSERT_TRUE(psk) << psk.error().to_string();
  EXPECT_NE(psk->bytes, read_key_file(file_with(second)).value().bytes);
  EXPECT_EQ(
      read_key_file(file_with("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n", 0400)).value().bytes[31], 31);
}

TEST_F(KeyFile, OthersMustNotReadIt) {
  for (const mode_t mode : {0640, 0604, 0660, 0644}) {
    const auto psk = read_key_file(file_with(generate_key().value(), mode));
    ASSERT_FALSE(psk);
    EXPECT_THAT(psk.error().to_string(), HasSubstr("others may read it"));
    EXPECT_THAT(psk.error().hint, HasSubstr("chmod 600"));
  }
}

TEST_F(KeyFile, MustHold32BytesOfBase64) {
  const std::string key = generate_key().value();
  for (const std::string& text :
       {std::string(), std::string("hello"), key.substr(1), key + key, "!" + key.substr(1),
        std::string(44, 'A'), key.substr(0, 42) + "==", key + " x"}) {
    const auto psk = read_key_file(file_with(text));
    ASSERT_FALSE(psk) << text;
    EXPECT_THAT(psk.error().hint, HasSubstr("genkey"));
  }
}

TEST_F(KeyFile, MustBeAFile) {
  EXPECT_THAT(read_key_file(folder_ / "none").error().to_string(), HasSubstr("No such file"));
  EXPECT_THAT(read_key_file(folder_).error().to_string(), HasSubstr("not a regular file"));
}

TEST(BootIds, AreFresh) { EXPECT_NE(fresh_boot_id().value(), fresh_boot_id().value()); }

}  // namespace
}  // namespace weft::wire
