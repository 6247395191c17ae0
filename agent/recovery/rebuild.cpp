#include "agent/recovery/rebuild.h"

#include <algorithm>

#include "agent/base/copy_bytes.h"
#include "agent/roce/builder.h"
#include "agent/roce/headers.h"

namespace weft::recovery {

std::uint8_t rebuilt_tos(std::uint8_t path_tos, bool ce_seen) {
  const std::uint8_t ecn = path_tos & roce::kEcnMask;
  if (ecn == 0) return path_tos;  // not ECN-capable: never marked
  if (ce_seen) return path_tos | roce::kEcnCe;
  return ecn == roce::kEcnCe ? static_cast<std::uint8_t>((path_tos & ~roce::kEcnMask) | roce::kEcnEct0)
                             : path_tos;
}

std::optional<FrameId> rebuild_frame(FrameIo& io, const PathHeaders& path, ByteView ip_packet, bool ce_seen) {
  const std::optional<FrameId> frame = io.allocate(path.ethernet_bytes() + ip_packet.size());
  if (!frame) return std::nullopt;
  const MutableByteView bytes = io.writable_bytes(*frame);
  const ByteView headers = path.bytes();
  std::copy_n(headers.begin(), path.ethernet_bytes(), bytes.begin());
  copy_bytes(ip_packet, bytes.data() + path.ethernet_bytes());
  std::uint8_t* ip = bytes.data() + path.ethernet_bytes();
  const std::uint8_t* model = headers.data() + path.ethernet_bytes();
  if (path.ipv6()) {
    const std::uint32_t model_word = load_be32(model);
    const std::uint8_t tos = rebuilt_tos(static_cast<std::uint8_t>(model_word >> 20), ce_seen);
    store_be32(ip, 6U << 28 | std::uint32_t{tos} << 20 | (model_word & 0xfffff));
    ip[7] = model[7];
  } else {
    ip[1] = rebuilt_tos(model[1], ce_seen);
    ip[8] = model[8];
    roce::fix_ipv4_checksum(ip);
  }
  return frame;
}

}  // namespace weft::recovery
