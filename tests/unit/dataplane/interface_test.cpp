#include "agent/dataplane/interface.h"

#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace weft::dataplane {
namespace {

namespace fs = std::filesystem;

// A made-up /sys/class/net.
class InterfaceTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "weft-sysfs-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    sysfs_ = pattern;
  }
  void TearDown() override { fs::remove_all(sysfs_); }

  void add(const std::string& name, int queues = 1) {
    for (int queue = 0; queue < queues; ++queue) {
      fs::create_directories(sysfs_ / name / "queues" / ("rx-" + std::to_string(queue)));
      fs::create_directories(sysfs_ / name / "queues" / ("tx-" + std::to_string(queue)));
    }
    std::ofstream(sysfs_ / name / "mtu") << "9000\n";
  }
  void enslave(const std::string& port, const std::string& master) {
    fs::create_symlink(fs::path("..") / master, sysfs_ / port / "master");
  }
  std::string refusal() const {
    const Status checked = check_bridge_path("lan0", "wan0", sysfs_);
    return checked ? "" : checked.error().what;
  }

  fs::path sysfs_;
};

TEST_F(InterfaceTest, Facts) {
  add("lan0", 3);
  const auto facts = interface_facts("lan0", sysfs_);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->receive_queues, 3U);
  EXPECT_EQ(facts->mtu_bytes, 9000U);
  EXPECT_EQ(facts->master, "");
  EXPECT_FALSE(interface_facts("nothing", sysfs_));
}

TEST_F(InterfaceTest, BothPortsOfOneBridge) {
  for (const char* name : {"lan0", "wan0", "br0", "br1", "bond0"}) {
    add(name);
  }
  fs::create_directories(sysfs_ / "br0" / "bridge");
  fs::create_directories(sysfs_ / "br1" / "bridge");
  EXPECT_NE(refusal().find("not a bridge port"), std::string::npos);
  enslave("lan0", "br0");
  EXPECT_NE(refusal().find("not a bridge port"), std::string::npos);
  enslave("wan0", "br1");
  EXPECT_NE(refusal().find("but wan0 of 'br1'"), std::string::npos);
  fs::remove(sysfs_ / "wan0" / "master");
  enslave("wan0", "bond0");
  EXPECT_NE(refusal().find("no bridge"), std::string::npos);
  fs::remove(sysfs_ / "wan0" / "master");
  enslave("wan0", "br0");
  EXPECT_EQ(refusal(), "");
}

}  // namespace
}  // namespace weft::dataplane
