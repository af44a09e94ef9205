# SPDX-License-Identifier: Apache-2.0
memtamer_unit(store USES store)
