// Bodies of Weft packets as the JSON of the protocol's vectors.
#pragma once

#include <nlohmann/json.hpp>

#include "agent/base/bytes.h"
#include "agent/base/result.h"
#include "agent/wire/format.h"
#include "agent/wire/messages.h"

namespace weft::test {

Bytes bytes_of(const nlohmann::json& hex);
wire::BootId boot_id_of(const nlohmann::json& hex);

// The body of packet["fields"]; a repair's list is built from packet["sources"].
Bytes encode_fields(wire::PacketType type, const nlohmann::json& packet);

// The fields of a body; a repair's "list" is the sources it names, null when it has none.
Result<nlohmann::json> decode_fields(wire::PacketType type, ByteView body);

}  // namespace weft::test
