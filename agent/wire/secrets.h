// Where keys and boot ids come from: files and the system's random source. The one part of agent/wire that
// touches the machine; used while starting up and by weftctl.
#pragma once

#include <string>

#include "agent/base/result.h"
#include "agent/wire/messages.h"
#include "agent/wire/packet_key.h"

namespace weft::wire {

// Reads a key file: 32 bytes as base64 on one line, readable by its owner only (mode 0600 or stricter).
Result<Psk> read_key_file(const std::string& path);

// The content of a new key file, without a line end.
Result<std::string> generate_key();

// For SessionConfig: once per peer at each start.
Result<BootId> fresh_boot_id();

}  // namespace weft::wire
