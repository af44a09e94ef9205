# SPDX-License-Identifier: Apache-2.0
memtamer_unit(size USES policy)
memtamer_unit(size_oom USES policy)
memtamer_unit(size_harm USES policy)
memtamer_unit(decide SOURCES ../golden/json_patch.c USES policy)
memtamer_unit(decide_effect USES policy)
memtamer_unit(annotation USES policy)
memtamer_unit(workload USES policy)
