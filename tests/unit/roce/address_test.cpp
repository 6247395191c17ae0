#include <unordered_set>

#include <gtest/gtest.h>

#include "agent/roce/flow_key.h"
#include "agent/roce/ip_address.h"

namespace weft::roce {
namespace {

TEST(IpAddress, ReadsWhatItPrints) {
  for (const char* text : {"10.0.0.2", "255.255.255.255", "fd00::2", "::", "fe80::1:2"}) {
    const auto address = IpAddress::parse(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->to_string(), text);
    EXPECT_EQ(address->view().size(), address->ipv6 ? 16U : 4U);
  }
  for (const char* text : {"", "10.0.0", "10.0.0.256", "fd00:::1", "host", "10.0.0.1/8"})
    EXPECT_FALSE(IpAddress::parse(text)) << text;
}

TEST(IpAddress, FamiliesNeverCompareEqual) {
  EXPECT_NE(IpAddress::parse("0.0.0.0").value(), IpAddress::parse("::").value());
}

TEST(IpPrefix, HoldsWhatItShould) {
  const auto prefix = IpPrefix::parse("10.2.0.0/15").value();
  EXPECT_TRUE(prefix.contains(IpAddress::parse("10.3.255.255").value()));
  EXPECT_FALSE(prefix.contains(IpAddress::parse("10.4.0.0").value()));
  EXPECT_FALSE(prefix.contains(IpAddress::parse("::").value()));
  const auto v6 = IpPrefix::parse("fd00:2::/48").value();
  EXPECT_TRUE(v6.contains(IpAddress::parse("fd00:2:0:ffff::1").value()));
  EXPECT_FALSE(v6.contains(IpAddress::parse("fd00:2:1::1").value()));
  EXPECT_EQ(v6.to_string(), "fd00:2::/48");
  EXPECT_TRUE(IpPrefix::parse("0.0.0.0/0")->contains(IpAddress::parse("1.2.3.4").value()));
  const auto host = IpPrefix::parse("10.0.0.7").value();
  EXPECT_TRUE(host.contains(IpAddress::parse("10.0.0.7").value()));
  EXPECT_FALSE(host.contains(IpAddress::parse("10.0.0.6").value()));
}

TEST(IpPrefix, RefusesMistakesWithAHint) {
  for (const char* text : {"10.2.0.1/16", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8x",
                           "fd00::/129", "fd00::1/64", "/8", "10.0.0/8"}) {
    const auto prefix = IpPrefix::parse(text);
    ASSERT_FALSE(prefix) << text;
    EXPECT_FALSE(prefix.error().hint.empty()) << text;
  }
}

TEST(FlowKey, EveryPartSeparatesFlows) {
  FlowKey base;
  base.src = IpAddress::parse("10.0.0.1").value();
  base.dst = IpAddress::parse("10.0.0.2").value();
  base.dest_qpn = 17;
  std::unordered_set<FlowKey> keys{base};
  const auto add = [&](auto change) {
    FlowKey key = base;
    change(key);
    EXPECT_TRUE(keys.insert(key).second);
  };
  add([](FlowKey& k) { std::swap(k.src, k.dst); });
  add([](FlowKey& k) { k.dest_qpn = 18; });
  add([](FlowKey& k) { k.response = true; });
  add([](FlowKey& k) { k.vlan_count = 1; });
  add([](FlowKey& k) { k.vlan_count = 1, k.vids[0] = 5; });
  add([](FlowKey& k) { k.vlan_count = 2, k.vids = {5, 6}; });
  add([](FlowKey& k) { k.vlan_count = 2, k.vids = {6, 5}; });
  std::unordered_set<std::size_t> hashes;
  for (const FlowKey& key : keys)
    hashes.insert(std::hash<FlowKey>{}(key));
  EXPECT_EQ(hashes.size(), keys.size());
}

}  // namespace
}  // namespace weft::roce
