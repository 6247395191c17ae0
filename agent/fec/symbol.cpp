#include "agent/fec/symbol.h"

#include <algorithm>
#include <cstring>

#include "agent/roce/icrc.h"

namespace weft::fec {

SourceSymbol::SourceSymbol(bool ipv6, ByteView ip_packet) {
  constexpr std::size_t kMostCopied = kHeadBytes - kSymbolLengthBytes;
  const std::size_t copied = std::min(ip_packet.size(), kMostCopied);
  store_be16(head_.data(), static_cast<std::uint16_t>(ip_packet.size()));
  // Nearly every packet that is coded is longer: a copy of known size is a few instructions.
  if (copied == kMostCopied) {
    std::memcpy(head_.data() + kSymbolLengthBytes, ip_packet.data(), kMostCopied);
  } else {
    std::memcpy(head_.data() + kSymbolLengthBytes, ip_packet.data(), copied);
  }
  roce::set_exempt_fields(ipv6, MutableByteView(head_).subspan(kSymbolLengthBytes, copied), 0);
  head_bytes_ = kSymbolLengthBytes + copied;
  tail_ = ip_packet.subspan(copied);
}

std::optional<ByteView> packet_in_symbol(ByteView symbol) {
  if (symbol.size() < kSymbolLengthBytes) return std::nullopt;
  const std::size_t length = load_be16(symbol.data());
  if (length == 0 || length > symbol.size() - kSymbolLengthBytes) return std::nullopt;
  return symbol.subspan(kSymbolLengthBytes, length);
}

}  // namespace weft::fec
