# SPDX-License-Identifier: Apache-2.0
memtamer_unit(http_client USES net_http_client Threads::Threads)
