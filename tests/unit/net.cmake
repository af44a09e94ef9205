# SPDX-License-Identifier: Apache-2.0
memtamer_unit(http_client USES net_http_client Threads::Threads)
memtamer_unit(pki USES net_pki)
memtamer_unit(http_server_limits SOURCES http_peer.c USES net_http_server Threads::Threads)
memtamer_unit(http_server SOURCES http_peer.c USES net_http_server net_http_client net_pki Threads::Threads)
