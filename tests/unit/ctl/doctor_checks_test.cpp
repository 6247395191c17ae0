#include "agent/ctl/doctor_checks.h"

#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace weft::ctl {
namespace {

namespace fs = std::filesystem;

bool found(const Findings& findings, Verdict verdict, std::string_view where, std::string_view what) {
  return std::ranges::any_of(findings, [&](const Finding& finding) {
    return finding.verdict == verdict && finding.where == where &&
           finding.what.find(what) != std::string::npos && (verdict == Verdict::kOk || !finding.hint.empty());
  });
}

bool any_failed(const Findings& findings) {
  return std::ranges::count(findings, Verdict::kFailed, &Finding::verdict) != 0;
}

// A made-up /sys/class/net with a bridge br0 of lan0 and wan0.
class DoctorPortsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "weft-sysfs-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    sysfs_ = pattern;
    fs::create_directories(sysfs_ / "br0" / "bridge");
    for (const std::string name : {"lan0", "wan0"}) {
      fs::create_directories(sysfs_ / name / "queues" / "rx-0");
      std::ofstream(sysfs_ / name / "mtu") << "1500\n";
      fs::create_symlink("../br0", sysfs_ / name / "master");
    }
    config_.lan.interface = "lan0";
    config_.wan.interface = "wan0";
  }
  void TearDown() override { fs::remove_all(sysfs_); }

  fs::path sysfs_;
  control::Config config_;
};

TEST_F(DoctorPortsTest, GoodPorts) {
  const Findings findings = check_ports(config_, sysfs_);
  EXPECT_FALSE(any_failed(findings));
  EXPECT_TRUE(found(findings, Verdict::kOk, "lan0, wan0", "one bridge"));
}

TEST_F(DoctorPortsTest, MissingInterface) {
  config_.wan.interface = "wan7";
  EXPECT_TRUE(found(check_ports(config_, sysfs_), Verdict::kFailed, "wan7", "no such interface"));
}

TEST_F(DoctorPortsTest, NoBridge) {
  fs::remove(sysfs_ / "wan0" / "master");
  EXPECT_TRUE(found(check_ports(config_, sysfs_), Verdict::kFailed, "wan0", "not a bridge port"));
}

TEST_F(DoctorPortsTest, SeveralQueues) {
  fs::create_directories(sysfs_ / "lan0" / "queues" / "rx-1");
  EXPECT_TRUE(found(check_ports(config_, sysfs_), Verdict::kFailed, "lan0", "2 receive queues"));
}

TEST_F(DoctorPortsTest, SmallMtu) {
  config_.wan_mtu_bytes = 9000;
  EXPECT_TRUE(found(check_ports(config_, sysfs_), Verdict::kFailed, "wan0", "port.wan.mtu is 9000"));
}

TEST_F(DoctorPortsTest, ABondIsNoPlaceForNativeXdp) {
  fs::create_symlink("../eth0", sysfs_ / "wan0" / "lower_eth0");
  EXPECT_TRUE(found(check_ports(config_, sysfs_), Verdict::kFailed, "wan0", "made of eth0"));
  config_.wan.xdp = control::XdpMode::kGeneric;
  EXPECT_FALSE(any_failed(check_ports(config_, sysfs_)));
}

TEST(DoctorTest, FeaturesByWhetherTheyAreRequired) {
  const Findings findings = check_features(dataplane::Features());
  EXPECT_TRUE(found(findings, Verdict::kFailed, "kernel", "af-xdp"));
  EXPECT_TRUE(found(findings, Verdict::kWarn, "kernel", "scatter-gather"));
}

TEST(DoctorTest, PathMtu) {
  EXPECT_EQ(largest_protected_pmtu(1500), 1024U);
  EXPECT_EQ(largest_protected_pmtu(1280), 1024U);
  EXPECT_EQ(largest_protected_pmtu(4096), 2048U);
  EXPECT_EQ(largest_protected_pmtu(9000), 4096U);
  control::Config config;
  EXPECT_EQ(check_path_mtu(config, dataplane::Features()).size(), 1U);
  config.wan_mtu_bytes = 9000;
  EXPECT_TRUE(found(check_path_mtu(config, dataplane::Features()), Verdict::kWarn, "port.wan.mtu",
                    "pass unprotected"));
}

TEST(DoctorTest, Offloads) {
  control::PortConfig port{.interface = "wan0"};
  dataplane::Offloads offloads{.driver = "mlx5_core"};
  EXPECT_TRUE(found(check_offloads(port, offloads), Verdict::kOk, "wan0", "no offload"));
  offloads.gro = true;
  EXPECT_TRUE(found(check_offloads(port, offloads), Verdict::kOk, "wan0", "no offload"));
  port.xdp = control::XdpMode::kGeneric;
  EXPECT_TRUE(found(check_offloads(port, offloads), Verdict::kWarn, "wan0", "GRO"));
  offloads = {.receive_vlan = true, .lro = true, .driver = "veth"};
  const Findings findings = check_offloads(port, offloads);
  EXPECT_TRUE(found(findings, Verdict::kWarn, "wan0", "VLAN tags"));
  EXPECT_TRUE(found(findings, Verdict::kWarn, "wan0", "large receive offload"));
  EXPECT_TRUE(found(findings, Verdict::kWarn, "wan0", "peer"));
  EXPECT_TRUE(found(check_offloads(port, std::nullopt), Verdict::kWarn, "wan0", "cannot be read"));
}

TEST(DoctorTest, MemoryLock) {
  EXPECT_TRUE(found(check_memory_lock(std::nullopt), Verdict::kOk, "RLIMIT_MEMLOCK", "unlimited"));
  EXPECT_TRUE(found(check_memory_lock(64 << 10), Verdict::kWarn, "RLIMIT_MEMLOCK", "64 KiB"));
}

TEST(DoctorTest, KeyThatIsNotThere) {
  control::Config config;
  config.peers.push_back({.name = "dc-b", .prefixes = {}, .key_file = "no-such.key"});
  EXPECT_TRUE(found(check_keys(config), Verdict::kFailed, "no-such.key", "cannot open"));
}

}  // namespace
}  // namespace weft::ctl
