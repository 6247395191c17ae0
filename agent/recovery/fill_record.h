// What a training process is told about a filled range, and who hears it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/recovery/engine_io.h"
#include "agent/recovery/policy.h"
#include "agent/roce/ip_address.h"
#include "agent/roce/psn.h"

namespace weft::recovery {

// One filled packet, in message coordinates: bytes [offset, offset + len) of the message that RDMA-writes to `va` with
// `rkey` are zeros in the receiver's memory. Reported when the receiver has acknowledged them, once.
struct FillRecord {
  Time at{};  // of the report; of the fill, when its acknowledgement could not be told from others'
  roce::IpAddress src;
  roce::IpAddress dst;
  std::uint32_t dst_qpn = 0;
  roce::Psn psn;
  std::uint64_t va = 0;
  std::uint32_t rkey = 0;
  std::uint64_t offset_bytes = 0;
  std::uint32_t payload_bytes = 0;
  Tag tag;
};

class FillSink {
 public:
  virtual ~FillSink() = default;
  virtual void on_fill(const FillRecord& record) = 0;
};

// One line of a fill log, schema weft-fill/1, without the newline. `class_name` is the policy's.
std::string to_json_line(const FillRecord& record, std::string_view class_name);

}  // namespace weft::recovery
