// The XDP programs' tables as maps in memory, so that what fills them is tested without root.
#pragma once

#include <cerrno>
#include <map>

#include "agent/dataplane/map_store.h"

namespace weft::test {

class FakeMapStore final : public dataplane::MapStore {
 public:
  using Table = std::map<Bytes, Bytes>;

  Status update(dataplane::MapName map, ByteView key, ByteView value) override {
    Table& table = tables[map];
    const Bytes name(key.begin(), key.end());
    if (table.size() >= most_entries && !table.contains(name))
      return fail(Error{.code = E2BIG, .what = "the table is full", .where = {}, .hint = {}});
    table.insert_or_assign(Bytes(key.begin(), key.end()), Bytes(value.begin(), value.end()));
    return {};
  }
  Status erase(dataplane::MapName map, ByteView key) override {
    tables[map].erase(Bytes(key.begin(), key.end()));
    return {};
  }
  Result<Bytes> lookup(dataplane::MapName map, ByteView key) override {
    const auto found = tables[map].find(Bytes(key.begin(), key.end()));
    return found == tables[map].end() ? Bytes{} : found->second;
  }
  Status for_each_key(dataplane::MapName map, const std::function<void(ByteView)>& visit) override {
    for (const auto& [key, value] : tables[map])
      visit(key);
    return {};
  }

  std::map<dataplane::MapName, Table> tables;
  std::size_t most_entries = SIZE_MAX;  // in each table
};

}  // namespace weft::test
