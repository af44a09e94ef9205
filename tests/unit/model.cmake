# SPDX-License-Identifier: Apache-2.0
memtamer_unit(identity USES model)
memtamer_unit(classify USES model)
memtamer_unit(sketch USES model)
memtamer_unit(profile USES model)
memtamer_unit(history USES model)
memtamer_unit(snapshot USES model Threads::Threads)
