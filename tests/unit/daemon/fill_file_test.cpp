#include "agent/daemon/fill_file.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include <gtest/gtest.h>
#include <unistd.h>

namespace weft::daemon {
namespace {

class FillFileCase : public testing::Test {
 protected:
  ~FillFileCase() override { std::filesystem::remove(path_); }

  std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::string path_ = testing::TempDir() + "weft-fill-file-test-" + std::to_string(::getpid());
  const recovery::PolicyTable policy_ = recovery::PolicyTable::defaults();
};

TEST_F(FillFileCase, ALineForEveryFill) {
  auto file = FillFile::create(path_);
  ASSERT_TRUE(file);
  recovery::FillRecord record;
  record.dst_qpn = 17;
  record.tag.class_id = policy_.find("dp-low").value();
  const std::string line = to_json_line(record, "dp-low") + "\n";
  ASSERT_TRUE(file->append({.records = {record, record}}, policy_));
  EXPECT_EQ(text(), line + line) << "in the file at once";
  ASSERT_TRUE(file->append({.records = {record}}, policy_));
  EXPECT_EQ(text(), line + line + line);
  EXPECT_EQ(file->missed(), 0U);
}

TEST_F(FillFileCase, WhatAnEarlierRunDeclaredIsNotOfThisOne) {
  std::ofstream(path_) << "an earlier run's\n";
  ASSERT_TRUE(FillFile::create(path_));
  EXPECT_EQ(text(), "");
}

TEST_F(FillFileCase, WhatCameTooFastIsSaidAndCounted) {
  auto file = FillFile::create(path_);
  ASSERT_TRUE(file);
  const Status written = file->append({.records = {recovery::FillRecord()}, .missed = 3}, policy_);
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().to_string().find("3 fills"), std::string::npos);
  EXPECT_EQ(file->missed(), 3U);
  EXPECT_EQ(std::ranges::count(text(), '\n'), 1);
}

TEST_F(FillFileCase, AnImpossiblePathIsAnError) { EXPECT_FALSE(FillFile::create(path_ + "/no/such/folder")); }

}  // namespace
}  // namespace weft::daemon
