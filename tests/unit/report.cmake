# SPDX-License-Identifier: Apache-2.0
memtamer_unit(report USES report)
memtamer_unit(replay USES report)
memtamer_unit(status USES report)
memtamer_unit(table USES report)
memtamer_unit(cycle_status USES recommender_service)
memtamer_alloc(alloc_report report)
