#include "agent/recovery/fill_record.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weft::recovery {

std::string to_json_line(const FillRecord& record, std::string_view class_name) {
  const nlohmann::ordered_json line{
      {"t_ns", record.at.count()},
      {"flow",
       {{"src", record.src.to_string()}, {"dst", record.dst.to_string()}, {"dst_qpn", record.dst_qpn}}},
      {"psn", record.psn.value},
      {"va", fmt::format("{:#x}", record.va)},
      {"rkey", record.rkey},
      {"offset", record.offset_bytes},
      {"len", record.payload_bytes},
      {"class", class_name},
      {"level", record.tag.level},
      {"layer", record.tag.layer}};
  return line.dump();
}

}  // namespace weft::recovery
